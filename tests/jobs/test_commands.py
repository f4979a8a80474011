"""The commands people use on jobs, on a whole Trainshed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.jobs.builders import a_runtime, a_shell
from tests.jobs.terminal import Terminal
from tests.jobs.test_recovery import eventually
from tests.jobs.test_v1_walk import a_pytorchjob
from tests.whole import EXAMPLES, Whole
from trainshed.jobs.summary import INDEX, JOBSET_NAME

PLAIN = EXAMPLES / "08-plain-python"
PROGRAM = f"{sys.executable} -m trainshed"


def test_run_streams_lines_by_rank_and_ends_with_the_jobs_end(shed: Whole) -> None:
    ran = shed.trainshed("run", "work.py", "--nodes", "2", "--name", "by-rank", cwd=PLAIN)
    assert ran.code == 0, ran.err
    assert sorted(ran.out.splitlines()) == [
        "[0] node 0 of 2: the sum of my 500 numbers is 249500",
        "[1] node 1 of 2: the sum of my 500 numbers is 250000",
    ]
    assert ran.err.splitlines()[:2] == [
        "by-rank: work.py on 2 nodes, python (runtime torch-distributed)",
        "it imports no known framework, so each node runs by itself; "
        "--framework torch has torchrun join them",
    ]
    assert "by-rank: Complete after" in ran.err


@pytest.mark.parametrize(("code", "is_told"), [(0, True), (3, False)])
def test_run_says_of_torchruns_complaints_at_its_end_that_they_are_no_failure_where_there_is_none(
    shed: Whole, tmp_path: Path, code: int, is_told: bool
) -> None:
    says = "E1118 20:49:36 api.py:1008] Error waiting on exit barrier. Elapsed: 0.1 seconds"
    (tmp_path / "last.py").write_text(f"print({says!r})\nraise SystemExit({code})")
    ran = shed.trainshed("run", "last.py", "--name", f"last-{code}", cwd=tmp_path)
    assert (ran.code, ran.out) == (code, f"[0] {says}\n")
    assert ("is no failure" in ran.err) == is_told, ran.err


def test_run_says_that_the_end_of_a_line_is_missing_that_is_too_long(shed: Whole, tmp_path: Path) -> None:
    script = ["for _ in range(40):", "    print('x' * 500_000, end='', flush=True)", "print('the end of it')"]
    (tmp_path / "long.py").write_text("\n".join([*script, "print('the next')"]))
    ran = shed.trainshed("run", "long.py", "--name", "long", cwd=tmp_path)
    assert ran.code == 0, ran.err
    cut, following = ran.out.splitlines()
    assert cut.endswith("xxx … (cut)")
    assert 8_000_000 < len(cut) < 9_000_000
    assert following == "[0] the next"


def test_run_ends_with_1_and_the_reason_when_the_script_fails(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import no_such_module")
    ran = shed.trainshed("run", "bad.py", "--name", "bad", cwd=tmp_path)
    assert ran.code == 1
    last = ran.err.splitlines()[-1]
    assert last.endswith(
        "at the first try: rank 0 of 1 exited 1: ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert ran.err.count("no_such_module") == 1


def test_run_ends_with_the_scripts_own_exit_code(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("raise SystemExit(7)")
    ran = shed.trainshed("run", "bad.py", "--name", "seven", "--rm", cwd=tmp_path)
    assert ran.code == 7, ran.err
    assert ran.err.splitlines()[-1] == "deleting seven"
    assert "rank 0 of 1 exited 7" in ran.err


def test_run_says_what_to_do_about_what_this_machine_has_not(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "big.py").write_text("print('never')")
    words = [sys.executable, "-m", "trainshed", "run", "big.py", "--gpus", "64", "--name", "big"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=shed.environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(3)]
        assert lines[1] == "waiting: needs nvidia.com/gpu 64, this machine has 0\n", lines
        assert lines[2].startswith("run it here all the same with ")
        assert lines[2].endswith(f" up --relax --data-dir {shed.data}\n")
    finally:
        process.terminate()
        process.communicate(timeout=90)
    assert "big" not in shed.trainshed("get").out


def test_run_tries_again_as_often_as_asked_and_says_how_often_it_did(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("raise ValueError('every time')")
    words = ("run", "bad.py", "--nodes", "2", "--retries", "2", "--name", "tried")
    ran = shed.trainshed(*words, cwd=tmp_path)
    assert ran.code == 1
    told = [line for line in ran.err.splitlines() if line.startswith("restart ")]
    assert [line.partition(": rank")[0] for line in told] == ["restart 1 of 2", "restart 2 of 2"]
    assert all("ValueError: every time" in line for line in told), told
    assert "s and 2 restarts: rank" in ran.err.splitlines()[-1]
    restarts = shed.trainshed("get", "tried").out.splitlines()[1].split()[4]
    assert restarts == "2"
    assert "\nrestarts  2 of 2\n" in shed.trainshed("describe", "tried").out


def test_a_manifest_keeps_the_runtimes_restarts_and_all_of_them_are_told(shed: Whole, name: str) -> None:
    shed.apply(a_runtime("thrice", backoffLimit=3))
    shed.apply(a_shell(name, "exit 3", runtime="thrice"))
    shed.finish(name, "Failed")
    assert shed.trainshed("get", name).out.splitlines()[1].split()[4] == "3"
    told = [line for line in shed.trainshed("events", name).out.splitlines() if "ContainerRestarting" in line]
    assert [line.partition("restart ")[2][:6] for line in told] == ["1 of 3", "2 of 3", "3 of 3"]


def test_a_talkative_program_is_followed_to_its_last_line(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("for i in range(200_000): print(i, 'x' * 60)")
    ran = shed.trainshed("run", "loud.py", "--name", "loud", cwd=tmp_path)
    assert (ran.code, len(ran.out.splitlines())) == (0, 200_000)
    again = shed.trainshed("logs", "-f", "loud")
    assert len(again.out.splitlines()) == 200_000


def test_lines_of_a_failed_job_are_there_without_asking_for_an_attempt(shed: Whole, name: str) -> None:
    shed.apply(a_runtime("last", backoffLimit=0, pod={"restartPolicy": "OnFailure"}))
    shed.apply(a_shell(name, "echo last words; exit 4", runtime="last"))
    shed.finish(name, "Failed")
    assert "[0] last words" in shed.trainshed("logs", name).out


def fail_rank_0(shed: Whole, name: str, words: str) -> None:
    """A job of two that both speak before one of them fails, which takes the other one's pod away."""
    wait = "until [ -e /tmp/go ]; do sleep 0.05; done"
    script = f"echo {words} of rank $JOB_COMPLETION_INDEX; {wait}; exit 3"
    shed.apply(a_shell(name, script, nodes=2, runtime="strict"))
    shed.await_pods(name, 2)
    eventually(lambda: shed.trainshed("logs", name).out.count(words) == 2, "both spoke")
    pods = {pod["metadata"]["labels"][INDEX]: pod for pod in shed.list("pods", f"{JOBSET_NAME}={name}")}
    shed.kubectl("exec", pods["0"]["metadata"]["name"], "--", "touch", "/tmp/go")
    shed.finish(name, "Failed")
    eventually(lambda: len(shed.list("pods", f"{JOBSET_NAME}={name}")) == 1, "rank 1's pod is gone")


def test_lines_of_a_rank_whose_pod_went_with_the_failure_of_another_are_shown(shed: Whole, name: str) -> None:
    shed.apply(a_runtime("strict", backoffLimit=0, pod={"restartPolicy": "Never"}))
    fail_rank_0(shed, name, "former words")
    shed.trainshed("delete", name)
    fail_rank_0(shed, name, "words")
    told = shed.trainshed("logs", name)
    assert sorted(told.out.splitlines()) == ["[0] words of rank 0", "[1] words of rank 1"]
    assert shed.trainshed("logs", name, "--rank", "1").out == "[1] words of rank 1\n"
    followed = shed.trainshed("logs", "-f", name, "--rank", "1")
    assert (followed.code, followed.out) == (3, "[1] words of rank 1\n"), followed
    missing = shed.trainshed("logs", name, "--rank", "2")
    assert (missing.code, missing.err) == (1, f"Error: {name} has no rank 2. Hint: it has 0, 1.\n")


def test_run_says_that_a_script_elsewhere_is_sent_with_its_own_folder(shed: Whole, tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "beside.txt").write_text(folder)
    (tmp_path / "there" / "a.py").write_text("print(open('beside.txt').read())")
    ran = shed.trainshed("run", "../there/a.py", "--name", "elsewhere", "--rm", cwd=tmp_path / "here")
    assert (ran.code, ran.out) == (0, "[0] there\n"), ran.err
    said = f"sending {tmp_path / 'there'}, as ../there/a.py is not in this folder"
    assert ran.err.splitlines()[0] == said
    assert "sending" not in shed.trainshed("run", "a.py", "--rm", cwd=tmp_path / "there").err


def test_run_passes_arguments_environment_and_volumes(shed: Whole, tmp_path: Path) -> None:
    script = "import os, sys; print(sys.argv[1:], os.environ['COLOUR']); open('/out/made', 'w').write('x')"
    (tmp_path / "code").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "code" / "job.py").write_text(script)
    words = (
        "run",
        "job.py",
        "--env",
        "COLOUR=a b",
        "--volume",
        f"{tmp_path / 'out'}:/out",
        "--rm",
        "--",
        "-x",
        "y z",
    )
    ran = shed.trainshed(*words, cwd=tmp_path / "code")
    assert ran.code == 0, ran.err
    assert "['-x', 'y z'] a b" in ran.out
    assert (tmp_path / "out" / "made").exists()


def a_repository(folder: Path) -> list[str]:
    """One with a commit; how to call git there."""
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (folder / "job.py").write_text("print('cloned')")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    return git


def test_run_clones_a_repository(shed: Whole, tmp_path: Path) -> None:
    git = a_repository(tmp_path)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    (tmp_path / "job.py").write_text("print('newer')")
    subprocess.run([*git, "commit", "-q", "-a", "-m", "y"], check=True)
    wanted = {f"{tmp_path}@main": "newer", f"file://{tmp_path}": "newer"}
    wanted |= {f"{tmp_path}@{commit.strip()}": "cloned", f"{tmp_path}@{commit[:8]}": "cloned"}
    for place, said in wanted.items():
        ran = shed.trainshed("run", "job.py", "--git", place, "--framework", "plain", "--rm")
        assert (ran.code, ran.out) == (0, f"[0] {said}\n"), ran.err


def test_run_says_how_it_starts_a_script_it_has_not_read(shed: Whole, tmp_path: Path) -> None:
    a_repository(tmp_path)
    ran = shed.trainshed("run", "job.py", "--git", str(tmp_path), "--detach", "--name", "unread")
    assert "torchrun starts it; --framework plain has it run by itself" in ran.err, ran.err
    shed.trainshed("delete", "unread")


def test_run_says_which_ref_of_a_repository_there_is_not(shed: Whole, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    ran = shed.trainshed("run", "job.py", "--git", f"{tmp_path}@nothing", "--framework", "plain", "--rm")
    assert ran.code != 0
    assert "fatal: couldn't find remote ref nothing" in ran.err, ran.err


def test_ctrl_c_stops_the_job_cleanly(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(600)")
    process = subprocess.Popen(
        [sys.executable, "-m", "trainshed", "run", "long.py", "--name", "stopped"],
        cwd=tmp_path,
        env=shed.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "[0] up\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    *_, before, last = said.splitlines()
    assert before == "stopping stopped"
    assert last.startswith("stopped and deleted stopped; its lines stay: ")
    assert last.endswith(f" logs stopped --data-dir {shed.data}")
    assert shed.trainshed("logs", "stopped").out == "[0] up\n"
    assert "stopped" not in [job["metadata"]["name"] for job in shed.list("trainjobs")]


def test_ctrl_c_promises_no_lines_of_a_job_that_wrote_none(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("import time\ntime.sleep(600)")
    words = [sys.executable, "-m", "trainshed", "run", "long.py", "--name", "quiet"]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=shed.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    while process.stderr.readline() != "running: 1 pod\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "stopping quiet\nstopped and deleted quiet\n"


def a_full_pipe() -> tuple[int, int]:
    """Who writes to it waits until somebody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writing, b" " * 4096):
            pass
    os.set_blocking(writing, True)
    return reading, writing


def test_ctrl_c_stops_a_job_that_has_only_just_been_sent(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("import time\ntime.sleep(600)")
    reading, writing = a_full_pipe()
    words = [sys.executable, "-m", "trainshed", "run", "long.py", "--name", "early"]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=shed.environment, stdin=subprocess.DEVNULL, stderr=writing
    )
    os.close(writing)
    eventually(lambda: "early" in shed.kubectl("get", "trainjobs"), "it was sent")
    process.send_signal(signal.SIGINT)  # its first line is still to be read
    with open(reading) as said:
        shown = said.read()
    assert process.wait(timeout=60) == 130
    assert shown.strip().splitlines()[-2] == "stopping early"
    assert "early" not in shed.kubectl("get", "trainjobs")


def test_nothing_is_printed_below_the_question_of_ctrl_c(shed: Whole, tmp_path: Path) -> None:
    script = """
    import itertools, time
    count = open("/out/count", "wb", buffering=0)
    for number in itertools.count():
        print("line", number, flush=True)
        count.write(b".")
        time.sleep(0.02)
    """
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "count.py").write_text(textwrap.dedent(script))
    words = ["run", "count.py", "--name", "asking", "--volume", f"{out}:/out", "--rm"]
    with Terminal([sys.executable, "-m", "trainshed", *words], tmp_path, shed.environment) as terminal:
        terminal.read_until("line 3")
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("(Ctrl-C again stops it): ")
        before = (out / "count").stat().st_size
        eventually(lambda: (out / "count").stat().st_size > before + 25, "it goes on")
        assert terminal.waiting() == ""
        terminal.type("n\n")
        terminal.read_until(f"line {before + 25}")
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("(Ctrl-C again stops it): ")
        terminal.type("y\n")
        terminal.read_until("stopping asking")
        assert terminal.process.wait(60) == 130


def test_describe_says_which_of_many_events_it_shows(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "true", nodes=5))
    shed.finish(name)
    told = shed.trainshed("describe", name).out
    count = len(shed.trainshed("events", name).out.splitlines()) - 1
    assert count > 15
    assert f"\nEvents: the last 15 of {count}; all with {PROGRAM} events {name} " in told, told


def test_suspend_stops_the_pods_and_resume_starts_them_again(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "sleep 300"))
    eventually(lambda: "Running" in shed.trainshed("get", name).out, "it runs")
    assert shed.trainshed("suspend", name).out == f"{name} suspended\n"
    selector = f"jobset.sigs.k8s.io/jobset-name={name}"
    eventually(lambda: not shed.list("pods", selector), "its pods are gone")
    assert "Suspended" in shed.trainshed("get", name).out
    assert shed.trainshed("resume", name).out == f"{name} resumed\n"
    eventually(lambda: "Running" in shed.trainshed("get", name).out, "it runs again")
    assert shed.trainshed("delete", name).code == 0


def test_a_job_that_has_ended_is_neither_suspended_nor_resumed(shed: Whole, name: str) -> None:
    later = f"{name}-later"
    shed.apply(a_shell(name, "true"), a_shell(later, "sleep 300"))
    shed.finish(name)
    before = shed.get("trainjob", name)
    for command, wanted in (("suspend", "suspended"), ("resume", "resumed")):
        ran = shed.trainshed(command, name, later)
        said = f"Error: {name} has ended and cannot be {wanted}."
        assert (ran.code, ran.out) == (1, f"{later} {wanted}\n"), "the other one is acted upon"
        assert (ran.err.startswith(said), ran.err.count("\n")) == (True, 1)
    assert shed.get("trainjob", name) == before
    # Whoever writes the field itself changes nothing about the end either.
    shed.kubectl("patch", "trainjob", name, "--type=merge", "-p", '{"spec": {"suspend": true}}')
    assert shed.trainshed("suspend", later).code == 0
    shed.finish(later, "Suspended")  # so the controller has seen the earlier change as well
    assert shed.get("trainjob", name)["status"] == before["status"]
    assert "Complete" in shed.kubectl("get", "trainjob", name)
    assert shed.trainshed("delete", name, later).code == 0


def test_every_job_that_is_named_is_acted_upon_and_each_has_its_line(shed: Whole, name: str) -> None:
    first, last = f"{name}-first", f"{name}-last"
    for one in (first, last):
        job = a_shell(one, "sleep 300")
        job["spec"]["suspend"] = True
        shed.apply(job)
    for words, done in (
        (("resume", first, "absent", last), "resumed"),
        (("suspend", first, "absent", last), "suspended"),
        (("delete", first, "absent", last), "deleted"),
    ):
        ran = shed.trainshed(*words)
        assert (ran.code, ran.out) == (1, f"{first} {done}\n{last} {done}\n"), ran
        assert ran.err.startswith('Error: there is no training job "absent".'), ran
        assert ran.err.count("\n") == 1


def test_a_kind_without_a_job_is_told_how_to_name_one(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "sleep 300"))
    for words, example in (
        (("get", "pytorchjobs"), "pytorchjob/<name>"),
        (("suspend", "pytorchjob", name), f"pytorchjob/{name}"),
        (("delete", "PyTorchJob", name), f"pytorchjob/{name}"),
    ):
        ran = shed.trainshed(*words)
        said = f"Error: PyTorchJob is a kind, not a job. Hint: kind and name are one word: {example}.\n"
        assert (ran.code, ran.err) == (2, said)
    assert shed.trainshed("delete", name).out == f"{name} deleted\n", "nobody else has touched it"


def test_lines_of_earlier_attempts_and_of_deleted_jobs_are_kept(shed: Whole, name: str) -> None:
    shed.apply(a_runtime("again", {"maxRestarts": 1}, backoffLimit=0, pod={"restartPolicy": "Never"}))
    shed.apply(a_shell(name, "echo attempt of $HOSTNAME; exit 5", runtime="again"))
    shed.finish(name, "Failed")
    for attempt in ("0", "1"):
        assert shed.trainshed("logs", name, "--attempt", attempt).out == f"[0] attempt of {name}-node-0-0\n"
    before = shed.trainshed("logs", name, "-p")
    assert before.code == 1
    assert f"the whole job was started again: see {PROGRAM} logs {name} --attempt 0" in before.err, before.err
    shed.trainshed("delete", name)
    assert shed.trainshed("logs", name).out == f"[0] attempt of {name}-node-0-0\n"
    missing = shed.trainshed("logs", name, "--attempt", "7")
    assert missing.code == 1
    assert "kept are attempts 0, 1" in missing.err


def test_attempts_of_a_former_job_of_the_name_are_not_offered(shed: Whole, name: str) -> None:
    shed.apply(a_shell(name, "sleep 1; echo former"))  # objects know the second in which they were made
    shed.finish(name)
    shed.trainshed("delete", name)
    later = a_shell(name, "echo later")
    later["spec"]["suspend"] = True
    shed.apply(later)
    missing = shed.trainshed("logs", name, "--attempt", "0")
    assert missing.code == 1
    assert f'there are no lines of TrainJob "{name}" yet' in missing.err, missing.err


def test_preview_works_without_a_server(tmp_path: Path, shed: Whole) -> None:
    environment = {**shed.environment, "TRAINSHED_HOME": str(tmp_path / "nothing")}
    manifest = EXAMPLES / "03-checkpoints" / "recovery" / "trainjob.yaml"
    words = [
        sys.executable,
        "-m",
        "trainshed",
        "preview",
        "-f",
        str(manifest),
        "-f",
        str(manifest.with_name("runtime.yaml")),
    ]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert any(line.endswith("# plugin torch") and "PET_NNODES" in line for line in done.stdout.splitlines())
    assert not os.path.exists(tmp_path / "nothing")


def test_preview_refuses_what_the_server_refuses(shed: Whole, tmp_path: Path) -> None:
    good = a_shell("g", "true")
    trainer = good["spec"]["trainer"]
    deep = {"env": [{"name": "A", "valueFrom": {"fieldReff": {}}}]}
    for changes, said in (
        ({"spec": {**good["spec"], "trainer": {**trainer, "numNodez": 2}}}, "error: spec.trainer.numNodez: "),
        (
            {"spec": {**good["spec"], "trainer": {**trainer, **deep}}},
            "spec.trainer.env[0].valueFrom.fieldReff",
        ),
        ({"apiVersion": "kubeflow.org/v1"}, "error: apiVersion: there is no TrainJob in"),
        ({"spec": {**good["spec"], "trainer": {**trainer, "numNodes": "two"}}}, "spec.trainer.numNodes"),
        ({"spec": {**good["spec"], "numNodes": 2}}, 'did you mean "spec.trainer.numNodes"?'),
        ({"spec": {**good["spec"], "runtimeRef": {"name": "torch-distribted"}}}, '"torch-distributed"?'),
    ):
        file = tmp_path / "job.json"
        file.write_text(json.dumps({**good, **changes}))
        ran = shed.trainshed("preview", "-f", str(file))
        assert ran.code == 1, ran
        assert said in ran.err
        assert shed.run("kubectl", "apply", "--dry-run=server", "-f", str(file)).code == 1


def test_preview_of_a_job_that_names_no_runtime_says_so(shed: Whole, tmp_path: Path) -> None:
    job = a_shell("a", "true").items()
    (tmp_path / "a.json").write_text(
        json.dumps({("sepc" if key == "spec" else key): value for key, value in job})
    )
    ran = shed.trainshed("preview", "-f", "a.json", cwd=tmp_path)
    assert ran.code == 1
    assert 'did you mean "spec"?' in ran.out + ran.err
    assert "spec.runtimeRef.name: has to say which runtime it uses" in ran.out + ran.err


def test_preview_leads_from_a_v1_job_to_its_conversion(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "old job.json").write_text(json.dumps(a_pytorchjob("old", "true")))
    ran = shed.trainshed("preview", "-f", "old job.json", cwd=tmp_path)
    assert ran.code == 2
    said, _, hint = ran.err.strip().partition(" Hint: make a TrainJob of it first: ")
    assert said == "Error: there is no TrainJob in what was given: PyTorchJob is an older kind."
    shown = shed.run("sh", "-c", hint.removesuffix("."), cwd=tmp_path)
    assert shown.code == 0, shown
    assert "replicatedJobs" in shown.out


def test_wrong_words_are_one_line(shed: Whole, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    os.mkfifo(tmp_path / "pipe.py")
    for file in ("start.sh", "job.yaml"):
        (tmp_path / file).touch()
    for words, code, said in (
        (("run", "absent.py"), 2, "there is no script absent.py"),
        (("run", "absent.py", "--framework", "plain"), 2, "there is no script absent.py"),
        (("run", "/dev/null"), 2, "/dev/null is no file. Hint: name a script"),
        (("run", "pipe.py"), 2, "pipe.py is no file. Hint: name a script"),
        (("run", "start.sh"), 2, "start.sh is no Python program. Hint: start it from a Python script, or "),
        (("run", "job.yaml"), 2, "job.yaml is no Python program. Hint: apply a manifest with "),
        (("run", "."), 2, ". is a folder. Hint: name a script"),
        (
            ("run", "x.py", "--nproc-per-node", "2"),
            2,
            "a plain program has one process per node, not 2. Hint: ",
        ),
        (
            ("run", "x.py", "--nproc-per-node", "2", "--framework", "jax"),
            2,
            "a program of jax has one process",
        ),
        (("run", "x.py", "--framework", "fortran"), 2, "there is no framework 'fortran'"),
        (("run", "x.py", "--framework", "pytorhc"), 2, "did you mean 'pytorch'?"),
        (("run", "x.py", "--nodes", "two"), 2, "'--nodes': a whole number from 1 on is needed, not 'two'"),
        (("run", "x.py", "--ttl", "-1"), 2, "'--ttl': a whole number from 0 on is needed, not '-1'"),
        (
            ("run", "x.py", "--framework", "PyTorch", "--git", "https://example.org/x", "--memory", "2GB"),
            2,
            "--memory must be a quantity such as 2, '500m' or '16Gi', not '2GB'. Hint: --memory 2Gi may be",
        ),
        (
            ("run", "x.py", "--git", "https://example.org/x", "--cpu", "0"),
            2,
            "--cpu must be more than nothing, not '0'",
        ),
        (
            ("run", "x.py", "--name", "My_Job", "--framework", "plain"),
            2,
            "--name 'My_Job' cannot be a job's name",
        ),
        (
            ("run", "x.py", "--name", "n" * 52, "--framework", "plain", "--nodes", "2"),
            2,
            "has 52 characters, and its pods' names leave room for 48",
        ),
        (
            ("run", "x.py", "--framework", "plain", "--volume", "/not/there:/data"),
            2,
            "there is no /not/there",
        ),
        (
            ("run", "x.py", "--framework", "plain", "--lr", "0.1"),
            2,
            "run x.py --framework plain -- --lr 0.1",
        ),
        (("run", "x.py", "--nodse", "2"), 2, "--nodes"),
        (("run", "x.py", "--git", "file:///not/there"), 2, "there is no folder /not/there"),
        (
            ("run", "x.py", "--git", "https://example.org/x", "--runtime", "torch-distribted"),
            1,
            'there is no ClusterTrainingRuntime "torch-distribted"; did you mean "torch-distributed"?',
        ),
        (
            ("run", "x.py", "--git", "https://example.org/x", "-n", "newns"),
            1,
            f'no namespace "newns". Hint: make it with kubectl --kubeconfig {shed.data}/kubeconfig create',
        ),
        (("logs", "absent"), 1, 'there is no training job "absent"'),
        (("logs", "-f", "absent"), 1, 'there is no training job "absent"'),
        (("describe", "absent"), 1, 'there is no training job "absent"'),
        (("delete", "absent", "-n", "default"), 1, 'there is no training job "absent" in namespace default'),
        (("runtimes", "absent"), 1, 'there is no ClusterTrainingRuntime "absent"'),
        (("delete",), 2, "name the jobs to delete"),
        (("preview", "-f", "absent.yaml"), 2, "cannot read absent.yaml"),
    ):
        ran = shed.trainshed(*words, cwd=tmp_path)
        assert ran.code == code, (words, ran)
        assert said in ran.err
        assert len(ran.err.splitlines()) == 1
