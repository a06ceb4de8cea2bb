"""The real Kubernetes control plane, started for some tests and gone after them.

It is the judge of everything that we imitate: etcd, API server, controller manager and
scheduler, built from source by hack/controlplane/build.sh and run as plain processes on the
loopback interface. There is no kubelet: nodes are objects, and a node stays ready only as long
as somebody writes its heartbeat.

    with controlplane.ControlPlane() as plane:
        plane.wait_for_service_account()
        plane.kubectl("create", "deployment", "web", "--image=web")

Nothing outlives the tests. All programs are in one process group led by a keeper, a shell that
reads from a pipe of ours; when this process ends, however it ends, the pipe closes and the
keeper kills its group. (PR_SET_PDEATHSIG was rejected: it fires when the *thread* that started
a child ends.)
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar

from tests import certificates, ports, tools

T = TypeVar("T")

Component = Literal["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
ALL: Final[tuple[Component, ...]] = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
)

BUILD: Final = Path(__file__).parent.parent / "hack" / "controlplane" / "build.sh"

# Users, by context name in the kubeconfig. The first two may do everything.
TOKEN: Final = "token"
CERTIFICATE: Final = "certificate"
UNPRIVILEGED: Final = "unprivileged"
ADMIN_TOKEN: Final = "admin-token"
UNPRIVILEGED_TOKEN: Final = "unprivileged-token"

POLL_S: Final = 0.05
READY_S: Final = 60.0  # a start takes 2 s; the rest is for a crowded machine
TERMINATE_S: Final = 10.0  # then a component is killed
LOG_TAIL_LINES: Final = 15


class ControlPlaneError(RuntimeError):
    """The control plane did not do what the harness asked of it; says where the logs are."""


def binaries_or_skip() -> Path:
    """The directory with the built programs; without them the test skips, and fails in CI."""
    if subprocess.run([BUILD, "--check"], check=False).returncode != 0:
        go = "" if shutil.which("go") else "install Go, which is not on PATH, then "
        tools.refuse(
            "the real Kubernetes control plane",
            f"{go}run hack/controlplane/build.sh (about 5 minutes the first time)",
        )
    where = subprocess.run([BUILD, "--where"], check=True, capture_output=True, text=True)
    return Path(where.stdout.strip())


def eventually(what: str, probe: Callable[[], T], *, timeout_s: float = 30.0) -> T:
    """Ask again until the answer is true, and return it: real servers take real time."""
    deadline = time.monotonic() + timeout_s  # noqa: TID251 - see the docstring
    while not (answer := probe()):
        if time.monotonic() > deadline:  # noqa: TID251
            raise ControlPlaneError(f"no {what} within {timeout_s:g} s; last answer: {answer!r}")
        time.sleep(POLL_S)  # noqa: TID251
    return answer


@dataclass(frozen=True)
class NodeMonitor:
    """How soon the controller manager gives up on a silent node; Kubernetes' own defaults.

    It then says Ready=Unknown and taints the node NoSchedule. The NoExecute taint follows only
    while another node is ready: when all fall silent, the controller suspects itself.
    """

    period_s: float = 5.0
    grace_s: float = 50.0
    startup_grace_s: float = 60.0


class ControlPlane:
    """One control plane with data, ports, certificates and logs of its own.

    `directory` is kept when given (logs and kubeconfig; etcd's data goes), else it is a temporary
    one. etcd and the API server always run, the other `components` when named; without the
    controller manager nobody makes service accounts, so the admission plugin that demands them
    is off. `extra_args` come last on the command line and so win. Enter it as a context, or call
    `start` and `stop`.
    """

    def __init__(
        self,
        *,
        directory: Path | None = None,
        components: Sequence[Component] = ALL,
        extra_args: Mapping[Component, Sequence[str]] | None = None,
        node_monitor: NodeMonitor | None = None,
    ) -> None:
        self.binaries = binaries_or_skip()
        self.directory = directory or Path(tempfile.mkdtemp(prefix="unmoor-controlplane-"))
        self.kubeconfig = self.directory / "kubeconfig"
        self.ca_file = self.directory / "ca.crt"
        self.client_certificate_file = self.directory / "admin.crt"
        self.client_key_file = self.directory / "admin.key"
        self._directory_is_kept = directory is not None
        self._components = tuple(components)
        self._extra_args = dict(extra_args or {})
        self._node_monitor = node_monitor or NodeMonitor()
        self._ports = {component: ports.free() for component in ALL}
        self._peer_port = ports.free()
        self._keeper: subprocess.Popen[bytes] | None = None
        self._running: dict[Component, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """Where the API server answers, with a certificate that `ca_file` vouches for."""
        return f"https://127.0.0.1:{self._ports['kube-apiserver']}"

    def log_file(self, component: Component) -> Path:
        """What the component says, over all its restarts."""
        return self.directory / f"{component}.log"

    def pids(self) -> dict[Component, int]:
        """The process of each running component."""
        return {component: process.pid for component, process in self._running.items()}

    # ------------------------------------------------------------------------------- life and death

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and return when it is ready; on failure nothing is left running."""
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", "trap '' INT TERM HUP; read -r _; kill -KILL 0"],
            stdin=subprocess.PIPE,
            process_group=0,
        )
        try:
            certificates.write(self.directory)
            self._write_users()
            for component in ("etcd", "kube-apiserver"):
                self._launch(component)
                self._await_ready(component)
            clients = [c for c in self._components if c not in self._running]
            for component in clients:  # at once: they do not need each other
                self._launch(component)
            for component in clients:
                self._await_ready(component)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill everything, as no one will miss the data, and remove what is temporary."""
        self._kill_all()
        shutil.rmtree(self.directory / "etcd", ignore_errors=True)
        if not self._directory_is_kept:
            shutil.rmtree(self.directory, ignore_errors=True)

    def start_component(self, component: Component) -> None:
        """Start one component, on its old port and data, and return when it is ready."""
        self._launch(component)
        self._await_ready(component)

    def stop_component(self, component: Component) -> None:
        """Ask one component to end, and return when it is gone and its port is free."""
        process = self._running.pop(component)
        process.terminate()
        try:
            process.wait(TERMINATE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        port = self._ports[component]
        eventually(f"free port {port} after {component}", lambda: ports.is_free(port))

    def restart_apiserver(self) -> None:
        """Same port, same data, all connections cut; the others find it again by themselves."""
        self.stop_component("kube-apiserver")
        self.start_component("kube-apiserver")

    # ------------------------------------------------------------------------------------------ use

    def kubectl(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - subprocess.run's own word
        check: bool = True,
        timeout_s: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run the real kubectl as the token admin; another user: `--context=certificate`."""
        result = subprocess.run(
            [self.binaries / "kubectl", *args],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            # Caches and preferences stay in our directory; no proxy comes between.
            env={"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.directory)},
        )
        if check and result.returncode != 0:
            raise ControlPlaneError(f"kubectl {' '.join(args)}: {result.stderr.strip()}")
        return result

    def get(self, *args: str) -> dict[str, Any]:
        """`kubectl get`, decoded."""
        answer: dict[str, Any] = json.loads(self.kubectl("get", *args, "--output=json").stdout)
        return answer

    def create(self, *manifests: Mapping[str, object]) -> None:
        """`kubectl create` all of them in one go; status is kept where the server keeps it."""
        body = {"apiVersion": "v1", "kind": "List", "items": manifests}
        self.kubectl("create", "--filename=-", input=json.dumps(body))

    def wait_for_service_account(self, namespace: str = "default", name: str = "default") -> None:
        """Until it exists no pod may be created there; the controller manager makes it."""
        find = ("get", "serviceaccount", name, f"--namespace={namespace}", "--ignore-not-found")
        eventually(f"service account {namespace}/{name}", lambda: self.kubectl(*find).stdout)

    # ------------------------------------------------------------------------------------ mechanics

    def _launch(self, component: Component) -> None:
        assert component not in self._running, f"{component} is already running"
        assert self._keeper is not None, "start comes before start_component"
        with self.log_file(component).open("ab") as log:
            self._running[component] = subprocess.Popen(
                [
                    self.binaries / component,
                    *self._arguments(component),
                    *self._extra_args.get(component, ()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={"HOME": str(self.directory), "PATH": os.defpath},
                process_group=self._keeper.pid,
            )

    def _await_ready(self, component: Component) -> None:
        process = self._running[component]

        def ready_or_dead() -> bool:
            return process.poll() is not None or self._is_ready(component)

        with contextlib.suppress(ControlPlaneError):
            eventually(f"ready {component}", ready_or_dead, timeout_s=READY_S)
            if process.returncode is None:
                return
        state = "not ready" if process.poll() is None else f"ended with {process.returncode}"
        log = self.log_file(component)
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])
        if process.returncode is not None:
            del self._running[component]
        self._directory_is_kept = True  # the log is what the reader needs now
        raise ControlPlaneError(f"{component} is {state}; the end of {log}:\n{tail}")

    def _is_ready(self, component: Component) -> bool:
        port = self._ports[component]
        connection: http.client.HTTPConnection
        if component == "etcd":
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        else:
            trust = ssl.create_default_context(cafile=self.ca_file)
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=trust)
        with contextlib.closing(connection):
            try:
                path = "/healthz" if component == "kube-controller-manager" else "/readyz"
                bearer = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
                connection.request("GET", path, headers=bearer)
                return connection.getresponse().status == http.HTTPStatus.OK
            except (OSError, http.client.HTTPException):
                return False

    def _kill_all(self) -> None:
        if self._keeper is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._keeper.pid, signal.SIGKILL)
        for process in (*self._running.values(), self._keeper):
            process.wait()
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._running.clear()
        self._keeper = None

    def _write_users(self) -> None:
        (self.directory / "tokens.csv").write_text(
            f"{ADMIN_TOKEN},admin,admin-uid,system:masters\n{UNPRIVILEGED_TOKEN},nobody,nobody-uid\n"
        )
        users: dict[str, dict[str, str]] = {
            TOKEN: {"token": ADMIN_TOKEN},
            CERTIFICATE: {
                "client-certificate": str(self.client_certificate_file),
                "client-key": str(self.client_key_file),
            },
            UNPRIVILEGED: {"token": UNPRIVILEGED_TOKEN},
        }
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [
                {"name": name, "context": {"cluster": "real", "user": name}} for name in users
            ],
            "current-context": TOKEN,
        }
        self.kubeconfig.write_text(json.dumps(config, indent=2))

    def _arguments(self, component: Component) -> list[str]:
        here, etcd = self.directory, f"http://127.0.0.1:{self._ports['etcd']}"
        served = [
            f"--secure-port={self._ports[component]}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={here}/server.crt",
            f"--tls-private-key-file={here}/server.key",
        ]
        client = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false"]
        match component:
            case "etcd":
                return self._etcd_arguments(etcd)
            case "kube-apiserver":
                return [*served, f"--etcd-servers={etcd}", *self._apiserver_arguments()]
            case "kube-controller-manager":
                return [*served, *client, *self._controller_manager_arguments()]
            case "kube-scheduler":
                return [*served, *client]

    def _etcd_arguments(self, url: str) -> list[str]:
        peer = f"http://127.0.0.1:{self._peer_port}"
        return [
            f"--data-dir={self.directory}/etcd",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _apiserver_arguments(self) -> list[str]:
        here, is_alone = self.directory, "kube-controller-manager" not in self._components
        return [
            f"--client-ca-file={self.ca_file}",
            f"--token-auth-file={here}/tokens.csv",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={here}/accounts.key",
            f"--service-account-signing-key-file={here}/accounts.key",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Loopback may not be advertised, and a machine may have nothing else.
            "--advertise-address=192.0.2.1",
            "--endpoint-reconciler-type=none",
            # Else open watches hold up the end of the process for a minute.
            "--shutdown-watch-termination-grace-period=1s",
            *(["--disable-admission-plugins=ServiceAccount"] if is_alone else []),
        ]

    def _controller_manager_arguments(self) -> list[str]:
        return [
            f"--root-ca-file={self.ca_file}",
            f"--service-account-private-key-file={self.directory}/accounts.key",
            f"--node-monitor-period={self._node_monitor.period_s}s",
            f"--node-monitor-grace-period={self._node_monitor.grace_s}s",
            f"--node-startup-grace-period={self._node_monitor.startup_grace_s}s",
        ]
