"""``unmoor demo``: the shipped story holds, any folder plays, and a bad one is explained."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from unmoor.app import manifests
from unmoor.app.cli import main

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
SHOP = ROOT / "examples" / "shop"
DEPLOY = ROOT / "deploy"


def play(*args: str) -> Result:
    """Run ``unmoor demo``."""
    return CliRunner().invoke(main, ["demo", *args])


def ending_of(result: Result) -> dict[str, Any]:
    """The JSON that it ends with."""
    ending: dict[str, Any] = json.loads(result.stdout)
    return ending


def test_the_shipped_story_holds_and_tells_what_it_cost() -> None:
    """Machines are ordered for pods that wait; one node is drained under its budget, another goes
    when it has been empty long enough.
    """
    result = play("-o", "json")
    ending = ending_of(result)

    assert result.exit_code == 0, result.output
    assert len(ending["checks"]) > 3
    assert all(check["held"] for check in ending["checks"])
    assert len(ending["nodes_removed"]) == 6
    assert ending["evictions"] == 4
    assert ending["refusals"] > 0, "the budget had to hold something back"
    assert 0 < ending["usd_per_h_after"] < ending["usd_per_h_before"]
    assert ending["spent_usd"] > 0
    saved = ending["saved"]
    assert (saved["commands"], saved["moved_pods"]) == (2, 1)
    # The other two nodes that are gone cost less.
    fallen = ending["usd_per_h_before"] - ending["usd_per_h_after"]
    assert 0 < saved["usd_per_h"] <= fallen


def test_the_story_is_told_in_order_and_names_who_does_what() -> None:
    """The lines that a person follows."""
    told = play().stdout

    beats = [
        "The cluster comes up",
        "kubectl apply: deployment/shop/cart",
        "finds no place",
        "ordered general-",
        "(shop/cart-",
        "on-demand in us-east-1a, from",
        "USD/h (catalogue us-east-1 ",
        "launched batch-",
        "spot, 0.02754 USD/h (catalogue us-east-1 2026-07-20, spot assumed)",
        "launched general-",
        "USD/h (catalogue us-east-1 2026-07-20)",
        "is ready for pods",
        "kubectl delete node",
        "its budget says not yet",
        "told the cloud to end",
        "Nodes that fall empty",
        "is empty; its time begins to run",
        "is Succeeded",
        "The bill falls",
        "kubectl scale deployment/shop/gallery --replicas=3",
        "is Pending: empty, saves 0.459 USD/h",
        "is Succeeded",
        "the machines cost",
        "1 pod fit elsewhere with one cheaper machine, saves 0.0765 USD/h; first comes c6a.large",
        "is Launching",
        "is ready for pods",
        "is Deleting",
        "is Succeeded",
        "the machines cost 0.4887 USD/h now",
        "consolidation: 2 commands save 0.5355 USD/h and moved 1 pod",
    ]
    for beat in beats:
        _, found, told = told.partition(beat)
        assert found, f"not told, or not in its place: {beat}"


def test_same_seed_same_story() -> None:
    """Two runs are equal to the letter, and another seed differs."""
    assert play("--seed", "7").stdout == play("--seed", "7").stdout
    assert play("--seed", "7").stdout != play("--seed", "8").stdout


def test_a_budget_that_allows_nothing_is_said_and_fails(tmp_path: Path) -> None:
    """What does not hold ends with exit code 1, and the blocker is named."""
    for file in QUICKSTART.iterdir():
        text = file.read_text().replace("minAvailable: 5", "minAvailable: 6")
        (tmp_path / file.name).write_text(text)

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert "held by disruption budget shop/cart: 0 disruptions allowed" in result.stdout
    assert "was drained, ended and released" in result.stderr


def test_machines_of_another_owner_are_left_alone(tmp_path: Path) -> None:
    """Without the annotation a machine is nobody's that we know of: it is never launched, and pods
    get machines of their own.
    """
    for file in QUICKSTART.iterdir():
        text = file.read_text().replace("    unmoor.dev/managed-by: quickstart", "    a: b")
        (tmp_path / file.name).write_text(text)

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert "launched general-a:" not in result.stdout
    assert "every machine has a node that is ready for pods" in result.stderr


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a"
PROVISIONER = (
    "{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: a}, "
    "spec: {ttlSecondsAfterEmpty: 1}}"
)
BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(30)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [", "is neither YAML nor JSON", id="not-yaml"),
        pytest.param("a: [", "a.yaml is neither YAML nor JSON: while parsing", id="which-file"),
        pytest.param("a: 1\nb: ]", "in line 2, column", id="which-line"),
        pytest.param("a: 1", "is no Kubernetes object: it has no kind", id="no-kind"),
        pytest.param("- 1", "is list, not an object", id="a-list"),
        pytest.param(
            "apiVersion: apps/v1\nkind: Deploymnt",
            "kind 'Deploymnt' is none of apps/v1: write Deployment",
            id="misspelt-kind",
        ),
        pytest.param("apiVersion: v1\nkind: Deployment", "write apps/v1", id="group-is-missing"),
        pytest.param("kind: [a]", "kind ['a']", id="kind-is-a-list"),
        pytest.param("apiVersion: v2\nkind: Pod", "apiVersion 'v2' of Pod", id="wrong-version"),
        pytest.param("apiVersion: v1\nkind: Pod", "without metadata.name", id="no-name"),
        pytest.param(
            f"{POD}}}\nspec: {{containers: [{{name: a}}], priorityClassName: none}}",
            "a.yaml, document 1: pod/default/a cannot be created",
            id="refused-by-the-server",
        ),
        pytest.param("kind: List\nitems: 3", "items of a List is 3", id="list-of-nothing"),
        pytest.param(f"{POD}, labels: {{1: a}}}}", "the key 1 is no text", id="key-is-a-number"),
        pytest.param(f"{POD}, labels: {{a: .nan}}}}", "nan is no number", id="not-a-number"),
        pytest.param(f"{POD}, labels: {{a: .inf}}}}", "inf cannot be said", id="infinite"),
        pytest.param(f"{POD}, labels: !!set {{a}}}}", "cannot be said in JSON", id="set"),
        pytest.param(f"{POD}}}\nspec: &again [*again]", "too deep or too large", id="holds-itself"),
        pytest.param(f"{POD}}}\nspec: {'[' * 101}{']' * 101}", "too deep or too large", id="deep"),
        pytest.param(BOMB, "too deep or too large", id="grows"),
        pytest.param(
            f"{POD}, labels: [a]}}\nspec: {{nodeNam: a, hostNetwork: 1e30}}",
            "Pod a: metadata.labels is ['a']: write an object; spec.containers is missing: write "
            "an array; spec.nodeNam is no field: write nodeName; spec.hostNetwork is '1e30': write "
            "a boolean",
            id="wrong-types",
        ),
        pytest.param(
            f"{POD}}}\nspec: {{containers: [{{name: a, resources: {{requests: {{cpu: lots}}}}}}]}}",
            "spec.containers[0].resources.requests.cpu is 'lots': write a quantity",
            id="wrong-quantity",
        ),
        pytest.param(
            PROVISIONER.replace("ttlSecondsAfterEmpty: 1", "ttlSecondAfterEmpty: 1"),
            "spec.ttlSecondAfterEmpty is no field: write ttlSecondsAfterEmpty",
            id="misspelt-field-of-ours",
        ),
        pytest.param(
            PROVISIONER.replace("Empty: 1", f"Empty: {10**30}"),
            f"spec.ttlSecondsAfterEmpty is {10**30}: write a number from",
            id="too-many-digits",
        ),
        pytest.param(
            "{apiVersion: sim.unmoor.dev/v1alpha1, kind: Instance, metadata: {name: a}, spec: 3}",
            "spec is 3: write an object",
            id="not-an-object",
        ),
        pytest.param(
            f"{POD}}}\nspec: {{containers: [], terminationGracePeriodSeconds: 1.0e+30}}",
            "spec.terminationGracePeriodSeconds is 1e+30: write a number from",
            id="too-large-with-a-dot",
        ),
        pytest.param(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, "
            "spec: {replicas: 1000000, selector: {}, template: {}}}",
            "spec.replicas is 1000000: a rehearsal plays at most 10000",
            id="too-many-pods",
        ),
        pytest.param("", "holds no manifests", id="empty"),
        pytest.param("\x00", "is neither YAML nor JSON", id="binary"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    """One line with the file, the value and the remedy; no traceback."""
    (tmp_path / "a.yaml").write_text(text)

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_machines_without_pods_come_up_and_nothing_is_drained() -> None:
    result = play(str(QUICKSTART.parent / "three-zones"))

    assert result.exit_code == 0, result.output
    assert "there are no pods, so there is nothing to drain" in result.stdout
    assert "0 nodes removed\n" in result.stdout


def test_a_folder_may_hold_what_nobody_acts_on(tmp_path: Path) -> None:
    """As a person's folder does: services, accounts, roles."""
    for file in (*QUICKSTART.iterdir(), DEPLOY / "rbac.yaml"):
        shutil.copy(file, tmp_path)
    service = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}"
    (tmp_path / "service.yaml").write_text(service)

    result = play(str(tmp_path))

    assert result.exit_code == 0, result.output
    assert "kubectl apply: service/default/a" in result.stdout
    assert "kubectl apply: clusterrole/unmoor" in result.stdout


HPA = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}}"
CRON_JOB = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}}"
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
"""
WIDGET = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {}}"


def test_kinds_that_nobody_serves_are_left_out(tmp_path: Path) -> None:
    """In one line, and all else is played; a kind that is defined is served."""
    for file in QUICKSTART.iterdir():
        shutil.copy(file, tmp_path)
    other = WIDGET.replace("v1", "v1beta1")
    more = (HPA, CRON_JOB, WIDGET, other, DEFINITION)
    (tmp_path / "more.yaml").write_text("\n---\n".join(more))

    result = play(str(tmp_path))

    assert result.exit_code == 0, result.output
    left_out = "1 CronJob, 1 HorizontalPodAutoscaler, 1 Widget"
    assert f"left out, as the cluster does not serve them: {left_out}\n" in result.stderr
    assert "kubectl apply: widget/default/a" in result.stdout


def test_a_definition_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(DEFINITION.replace("scope: Namespaced", "scope: 3"))

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert "CustomResourceDefinition widgets.example.com: spec.scope is 3" in result.stderr


def test_a_folder_without_machines_and_provisioners_is_told_what_it_lacks() -> None:
    result = play(str(QUICKSTART / "3-shop.yaml"))

    assert result.exit_code == 1
    assert "there is neither a Provisioner nor a Machine among the manifests" in result.stderr
    assert "examples/shop/1-provisioners.yaml" in result.stderr


def test_machines_that_are_given_are_used_before_others_are_ordered() -> None:
    result = play(str(QUICKSTART))

    assert result.exit_code == 0, result.output
    assert "launched general-a: m5.large in us-east-1a" in result.stdout
    _, _, first = result.stdout.partition("The cluster comes up")
    assert "ordered" not in first.partition("A node is deleted")[0]


def test_a_pod_that_fits_nowhere_is_told_and_fails(tmp_path: Path) -> None:
    for file in SHOP.iterdir():
        text = file.read_text().replace("memory: 5Gi", "memory: 5Pi")
        (tmp_path / file.name).write_text(text)

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert "no type has room for cpu 250m, memory 5Pi (the largest in memory is " in result.stdout
    assert "this did not hold: every pod has a place" in result.stderr
    assert "nothing has changed for 6" in result.stdout, "it goes on when nothing comes of waiting"
    waiting = re.search(r"broken  every pod has a place \((.*)\)", result.stdout)
    assert waiting, "in one line, however long"
    deleted = result.stdout.partition("kubectl delete node")[2]
    assert all(f"pod {pod} is gone" not in deleted for pod in waiting[1].split(", "))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It says which."""
    result = play(str(tmp_path / "nowhere"))

    assert result.exit_code == 1
    assert "nowhere does not exist" in result.stderr


def test_the_example_is_what_a_real_server_would_take() -> None:
    """Every document names a kind and a name, and each file opens by saying what it is for."""
    files = sorted(QUICKSTART.iterdir())
    assert files
    for file in files:
        text = file.read_text()
        documents = list(yaml.safe_load_all(text))

        assert text.startswith("# ")
        assert documents
        assert all(one["kind"] and one["metadata"]["name"] for one in documents)


def test_a_null_is_a_field_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: a, labels: null}}"
    )

    ((_, body),) = manifests.read(tmp_path)

    assert body["metadata"] == {"name": "a"}


def test_a_time_may_stand_there_without_quotes(tmp_path: Path) -> None:
    """As kubectl writes it: text in JSON, a date only in YAML."""
    text = (
        "{apiVersion: v1, kind: Node, metadata: {name: a, creationTimestamp: 2024-01-01T00:00:00Z}}"
    )
    (tmp_path / "a.yaml").write_text(text)

    ((_, body),) = manifests.read(tmp_path)

    assert body["metadata"]["creationTimestamp"] == "2024-01-01T00:00:00Z"


@pytest.mark.parametrize("kind", ["folder", "broken link"])
def test_what_is_no_file_is_named(tmp_path: Path, kind: str) -> None:
    """It says which, and the others are not played without it."""
    if kind == "folder":
        (tmp_path / "a.yaml").mkdir()
    else:
        (tmp_path / "a.yaml").symlink_to(tmp_path / "nowhere")

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert "a.yaml" in result.stderr
    assert len(result.stderr.splitlines()) == 1
