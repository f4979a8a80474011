"""Cloning a repository inside a pod: a POSIX shell script that needs git and nothing else.

The repository, the ref (branch, tag or commit) and the folder are variables. Credentials are the files of a
mounted Secret: they are in no command, no variable and no URL.
"""

from __future__ import annotations

from typing import Final

FILE: Final = "git_clone.sh"
CREDENTIALS: Final = "/git-credentials"


def checkout(repository: str, ref: str, folder: str, refused: str) -> str:
    """Lines that leave the ref in an empty folder; `refused` is a file for what git says meanwhile.

    All are words of a shell, quoted as need be; the lines rely on `set -e` and leave the shell in the folder.
    """
    return f"""\
git init --quiet {folder}
cd {folder}
git remote add origin {repository}
ref={ref}
found=FETCH_HEAD
# Not every server can leave history out, and few hand out a single commit: then it is looked for among all.
if ! git fetch --quiet --depth 1 -- origin "$ref" 2> {refused} &&
   ! git fetch --quiet -- origin "$ref" 2>> {refused}; then
  git fetch --quiet --tags origin 2>> {refused} || {{ cat {refused} >&2; exit 1; }}
  found=$(git rev-parse --verify --quiet "$ref^{{commit}}") || {{ cat {refused} >&2; exit 1; }}
fi
git -c advice.detachedHead=false checkout --quiet "$found" --"""


SCRIPT: Final = f"""\
set -e
if [ -z "$GIT_SYNC_REPO" ]; then
  echo "[git-clone] GIT_SYNC_REPO is not set: nothing to clone"
  exit 0
fi
if ! command -v git > /dev/null; then
  echo "[git-clone] there is no git in this image: choose an image or a runtime that has it" >&2
  exit 1
fi
echo "[git-clone] $GIT_SYNC_REPO ${{GIT_SYNC_BRANCH:-(its default branch)}} -> $GIT_SYNC_ROOT"
credentials="${{GIT_SYNC_CREDENTIALS:-{CREDENTIALS}}}"
own=$(mktemp -d)
trap 'rm -rf "$own"' EXIT
export GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=https:http:ssh:git:file
if [ -r "$credentials/ssh-privatekey" ]; then
  (umask 077 && cat "$credentials/ssh-privatekey" > "$own/key" && echo >> "$own/key")
  hosts="-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=$own/known_hosts"
  if [ -r "$credentials/known_hosts" ]; then
    hosts="-o StrictHostKeyChecking=yes -o UserKnownHostsFile=$credentials/known_hosts"
  fi
  export GIT_SSH_COMMAND="ssh -i $own/key -o IdentitiesOnly=yes -o BatchMode=yes $hosts"
elif [ -d "$credentials" ]; then
  cat > "$own/answer" << 'END'
#!/bin/sh
cd "$GIT_SYNC_CREDENTIALS" || exit 1
case "$1" in
  Username*) if [ -r username ]; then cat username; else echo x-access-token; fi ;;
  *) if [ -r token ]; then cat token; else cat password; fi ;;
esac
END
  chmod 700 "$own/answer"
  export GIT_ASKPASS="$own/answer" GIT_SYNC_CREDENTIALS="$credentials"
fi
# A clone that broke off has left a part of itself in the volume.
find "$GIT_SYNC_ROOT" -mindepth 1 -delete
{checkout('"$GIT_SYNC_REPO"', '"${GIT_SYNC_BRANCH:-HEAD}"', '"$GIT_SYNC_ROOT"', '"$own/refused"')}
chmod -R a+rwX "$GIT_SYNC_ROOT"
"""
