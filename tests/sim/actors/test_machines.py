from tests.sim.actors.cluster import Cluster, in_virtual_time
from unmoor.model.instance import LaunchRequest
from unmoor.model.kinds import INSTANCES
from unmoor.sim.actors.machines import MachineDelays, Machines

FIXED = MachineDelays(launch_s=(5, 5), shut_down_s=(20, 20), forget_s=(100, 100))


async def launch(cluster: Cluster, number: int = 0) -> str:
    made = await cluster.cloud.create(LaunchRequest(token=f"t-{number}", cluster="c", machine="m"))
    return made.provider_id


def phase(cluster: Cluster, provider_id: str) -> str:
    found = cluster.find(INSTANCES.ref(provider_id.rpartition("/")[2]))
    return "" if found is None else found.get("status", {}).get("phase", "Pending")


@in_virtual_time
async def test_the_life_of_a_machine() -> None:
    cluster = Cluster()
    async with cluster.playing(Machines(cluster.stage, FIXED)):
        made = await launch(cluster)
        seen = []
        for at_s in (4, 6, 1000):
            await cluster.wait(at_s - cluster.now_s)
            seen.append(phase(cluster, made))
        await cluster.cloud.terminate(made)
        for after_s in (1, 18, 2, 97, 3):
            await cluster.wait(after_s)
            seen.append(phase(cluster, made))

    assert seen == [
        "Pending",
        "Running",
        "Running",
        "ShuttingDown",
        "ShuttingDown",
        "Terminated",
        "Terminated",
        "",
    ]


@in_virtual_time
async def test_a_machine_that_is_not_wanted_any_more_never_runs() -> None:
    cluster = Cluster()
    async with cluster.playing(Machines(cluster.stage, FIXED)):
        made = await launch(cluster)
        await cluster.wait(1)
        await cluster.cloud.terminate(made)
        await cluster.wait(6)

        assert phase(cluster, made) == "ShuttingDown"


@in_virtual_time
async def test_a_machine_may_be_killed() -> None:
    cluster = Cluster()
    machines = Machines(cluster.stage, FIXED)
    async with cluster.playing(machines):
        made = await launch(cluster)
        await cluster.wait(6)
        await machines.kill(made.rpartition("/")[2])

        assert phase(cluster, made) == "Terminated"


@in_virtual_time
async def test_machines_die_by_themselves_where_they_may() -> None:
    cluster = Cluster()
    mortal = MachineDelays(launch_s=(1, 1), mean_life_h=1.0, forget_s=(10**6, 10**6))
    async with cluster.playing(Machines(cluster.stage, mortal)):
        made = [await launch(cluster, number) for number in range(20)]
        await cluster.wait(3600)
        dead = sum(phase(cluster, one) == "Terminated" for one in made)

        assert 5 < dead < 19
