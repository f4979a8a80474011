"""The system calls Python 3.11 has no names for: namespaces, mounts, capabilities of a process."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MNT_DETACH = 2

_SYS_OPEN_TREE, _SYS_MOVE_MOUNT = 428, 429
"""The same numbers on every architecture."""
_OPEN_TREE_CLONE = 1
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOVE_MOUNT_F_EMPTY_PATH = 4

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(descriptor: int, kind: int) -> None:
    _check(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    done = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        os.fsencode(options) if options else None,
    )
    _check(done, f"mount {target}")


def unmount(target: str, flags: int = MNT_DETACH) -> None:
    _check(_libc.umount2(os.fsencode(target), ctypes.c_int(flags)), f"unmount {target}")


def copied_mounts(path: str) -> int:
    """A descriptor of a copy of all that is mounted there and below, in no namespace; it goes with it."""
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE)
    found: int = _libc.syscall(
        ctypes.c_long(_SYS_OPEN_TREE), ctypes.c_int(_AT_FDCWD), os.fsencode(path), flags
    )
    _check(min(found, 0), f"open_tree {path}")
    return found


def attach_mounts(descriptor: int, target: str) -> None:
    """Mount what was copied, in our namespace."""
    here = ctypes.c_int(_AT_FDCWD), os.fsencode(target), ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH)
    done = _libc.syscall(ctypes.c_long(_SYS_MOVE_MOUNT), ctypes.c_int(descriptor), b"", *here)
    _check(done, f"move_mount {target}")


def set_hostname(name: str) -> None:
    raw = name.encode()
    _check(_libc.sethostname(raw, ctypes.c_size_t(len(raw))), "sethostname")


def set_name(name: str) -> None:
    """What `ps` shows as the command's short name."""
    _check(_prctl(_PR_SET_NAME, name.encode()[:15]), "prctl")


def die_with_parent(number: int) -> None:
    _check(_prctl(_PR_SET_PDEATHSIG, number), "prctl")


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _check(_prctl(_PR_SET_CHILD_SUBREAPER, 1), "prctl")


def renounce_new_privileges() -> None:
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "prctl")


def keep_capabilities(mask: int) -> None:
    """Give up every capability that is not in the mask, for this process and all it starts."""
    for number in range(64):
        if not mask >> number & 1:
            _prctl(_PR_CAPBSET_DROP, number)  # fails past the last one this kernel knows
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    sets = (ctypes.c_uint32 * 6)(low, low, low, high, high, high)
    _check(_libc.capset(header, sets), "capset")


def _prctl(option: int, value: int | bytes) -> int:
    given = value if isinstance(value, bytes) else ctypes.c_ulong(value)
    return int(
        _libc.prctl(ctypes.c_int(option), given, ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    )


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
