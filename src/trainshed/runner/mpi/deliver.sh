#!/bin/sh
# In place of the image kubectl-delivery: puts kubectl where kubexec.sh looks for it. Told `foreign`, it
# also brings the machine's own, for containers whose tree has no Python.
here=${0%/*}
cp "$here/kubectl.py" "$TARGET_DIR/kubectl.py" || exit 1
cp "$here/kubectl.sh" "$TARGET_DIR/kubectl" && chmod 755 "$TARGET_DIR/kubectl" || exit 1
if [ "$1" = foreign ] && found=$(command -v kubectl); then cp "$found" "$TARGET_DIR/kubectl.bin" || exit 1; fi
