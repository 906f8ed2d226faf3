#!/usr/bin/env bash
# smoke.sh WHEEL [PYTHON]: install the wheel into a new environment, then use it in an empty folder without network.
set -euo pipefail
wheel=$(realpath "$1")
readme=$(realpath "$(dirname "$0")/../README.md")
python=${2:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel[tables]"
cd "$folder"
unset PYTHONPATH USMO_DATA
offline=()
if unshare --user --map-root-user --net true 2>/dev/null; then
  offline=(unshare --user --map-root-user --net)
fi
usmo=("${offline[@]}" "$folder/venv/bin/usmo")
"${usmo[@]}" --version
"${usmo[@]}" demo
# the commands of the README
while read -r command; do
  read -ra words <<<"${command#\$ usmo }"
  "${usmo[@]}" "${words[@]}" </dev/null
done < <(grep '^\$ usmo ' "$readme")
"${usmo[@]}" inspect ./*.usmo
test -s out.html
"${offline[@]}" "$folder/venv/bin/python" -c "
from importlib.metadata import version
import usmo
assert usmo.__version__ == version('usmo-learn') and 'site-packages' in usmo.__file__, usmo.__file__
print('usmo', usmo.__version__, 'works' + (' without network' if '${offline[*]}' else ''))"
