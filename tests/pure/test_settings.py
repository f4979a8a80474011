"""The user's settings: what may stand in the file, and what is said about the rest."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from trainshed.compose import settings, trouble
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.parts import AGENT, OPERATOR
from trainshed.compose.settings import Choices
from trainshed.compose.trouble import Trouble
from trainshed.runner.settings import ImageRule, Settings, SimulatedNode, Taint

FULL = """
relax = true
runner = "process"
[images]
"pytorch/*" = "/opt/torch"
[[nodes]]
name = "gpu-1"
cpu = 8
memory = "32Gi"
gpus = 2
labels = { zone = "a" }
taints = ["dedicated=training:NoSchedule", "spot:PreferNoSchedule"]
[logs]
keep = "12h"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return path


def test_a_file_says_everything(tmp_path: Path) -> None:
    node = SimulatedNode(
        name="gpu-1",
        cpu="8",
        memory="32Gi",
        gpus=2,
        labels=(("zone", "a"),),
        taints=(Taint("dedicated", "training", "NoSchedule"), Taint("spot", "", "PreferNoSchedule")),
    )
    assert settings.read(written(tmp_path, FULL)) == Settings(
        relax=True,
        runner="process",
        images=(ImageRule("pytorch/*", "/opt/torch"),),
        nodes=(node,),
        keep_logs_seconds=12 * 3600,
    )


def test_an_image_may_have_contents_of_its_own(tmp_path: Path) -> None:
    meaning = '{ environment = "/opt/torch", contents = { "/opt/mnist/" = "/home/me/mnist" } }'
    text = f'[images]\n"me/mnist:*" = {meaning}'
    [rule] = settings.read(written(tmp_path, text)).images
    assert rule == ImageRule("me/mnist:*", "/opt/torch", (("/opt/mnist", "/home/me/mnist"),))


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert settings.read(written(tmp_path, "")) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("relax = 1", "relax must be true or false, not 1"),
        ("relaxed = true", "relaxed is not a setting; there are relax, runner, images, nodes, logs"),
        ('runner = "docker"', "runner must be auto, sandbox, process, not 'docker'"),
        ('[images]\n"x" = 1', 'images."x" must be the path of an environment, not 1'),
        (
            '[images]\n"x" = {path = "/a"}',
            'images."x".path is not a setting; there are environment, contents',
        ),
        (
            '[images]\n"x" = {contents = {"a" = "/a"}}',
            'contents."a" must be for an absolute path below the root',
        ),
        ('[images]\n"x" = {contents = {"/a" = "b"}}', "contents.\"/a\" must be an absolute path, not 'b'"),
        ('[images]\n"x" = "here"', "images.\"x\" must be an absolute path, not 'here'"),
        ("nodes = 1", "nodes must be tables, not 1"),
        ("nodes = [1]", "nodes[0] must be a table, not 1"),
        ('[[nodes]]\nname = "A"', "nodes[0].name 'A': "),
        ("[[nodes]]\ncpu = 1", "nodes[0].name '': "),
        ('[[nodes]]\nname = "a"\ncpu = "x"', "nodes[0].cpu must be a quantity such as 8 or 16Gi, not 'x'"),
        ('[[nodes]]\nname = "a"\ncpu = true', "nodes[0].cpu must be a quantity"),
        ('[[nodes]]\nname = "a"\nmemory = "-1"', "nodes[0].memory must be a quantity"),
        ('[[nodes]]\nname = "a"\ngpus = -1', "nodes[0].gpus must be from 0 to 1024, not -1"),
        ('[[nodes]]\nname = "a"\ngpus = true', "nodes[0].gpus must be a whole number, not True"),
        ('[[nodes]]\nname = "a"\nlabels = { zone = 1 }', "nodes[0].labels.zone: its value must be a text"),
        ('[[nodes]]\nname = "a"\ntaints = ["x"]', "nodes[0].taints: 'x' is not key=value:effect"),
        ('[[nodes]]\nname = "a"\ntaints = ["x:Never"]', "nodes[0].taints: 'x:Never' is not key=value:effect"),
        ('[[nodes]]\nname = "a"\n[[nodes]]\nname = "a"', "nodes[1].name 'a' is used twice"),
        ('[[nodes]]\nname = "a"\ncolour = "red"', "nodes[0].colour is not a setting"),
        ("[logs]\nkeep = 7", 'logs.keep must be a time such as "12h" or "7d", not 7'),
        ("[logs]\nkep = 7", "logs.kep is not a setting; there are keep"),
        ("relax =", "is not TOML"),
    ],
)
def test_every_bad_value_is_one_line_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(Trouble) as refused:
        settings.read(path)
    assert refused.value.message.startswith(str(path))
    assert words in refused.value.message
    assert "\n" not in refused.value.message
    assert refused.value.code == 2


def test_options_count_more_than_the_file_and_are_remembered(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, tmp_path)
    written(tmp_path, 'runner = "process"')
    kept, found = settings.chosen(folder, Choices(relax=True))
    assert (found.relax, found.runner) == (True, "process")
    settings.remember(folder, kept)
    assert settings.chosen(folder, Choices())[1].relax
    kept, found = settings.chosen(folder, Choices(relax=False))
    settings.remember(folder, kept)
    assert not settings.chosen(folder, Choices())[1].relax


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path, tmp_path)
    with pytest.raises(Trouble, match=r"cannot read .*none.toml"):
        settings.chosen(folder, Choices(config=str(tmp_path / "none.toml")))


def test_a_named_file_that_is_gone_is_forgotten_when_asked(tmp_path: Path) -> None:
    folder, gone = DataFolder(tmp_path, tmp_path), str(tmp_path / "none.toml")
    settings.remember(folder, Choices(config=gone))
    for look in (lambda: settings.chosen(folder, Choices()), lambda: settings.backend_table(folder)):
        with pytest.raises(Trouble, match=r"cannot read .*none.toml") as refused:
            look()
        assert "up --no-config" in refused.value.hint
        assert "--data-dir" not in refused.value.hint
    kept, found = settings.chosen(folder, Choices(config=""))
    settings.remember(folder, kept)
    assert found == settings.chosen(folder, Choices())[1] == Settings()
    assert settings.config_of(folder) == ""


def test_only_what_concerns_a_part_makes_it_outdated() -> None:
    before, relaxed = Settings(), Settings(relax=True)
    images = Settings(images=(ImageRule("*", "/opt"),))
    assert settings.digest(before, OPERATOR) != settings.digest(relaxed, OPERATOR)
    assert settings.digest(before, OPERATOR) == settings.digest(images, OPERATOR)
    assert settings.digest(before, AGENT) != settings.digest(images, AGENT)
    assert settings.digest(before, AGENT) == settings.digest(relaxed, AGENT)


def test_who_may_not_read_the_named_file_is_told_how_to_do_without_it(tmp_path: Path) -> None:
    refused = OSError(errno.EACCES, "Permission denied")
    hint = trouble.unreadable(refused, tmp_path, "name another with up --config").hint
    assert hint.endswith(", or name another with up --config")
    assert "--data-dir" not in hint
