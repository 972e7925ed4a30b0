#!/bin/sh
# Picks a Python and hands over to setup.py. PYTHON=/path/to/python overrides the choice.
set -eu
cd "$(dirname "$0")/.."

new_enough='import sys; sys.exit(sys.version_info < (3, 10))'
tested='import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))'
names='python3 python3.13 python3.12 python3.11 python3.10 python'

if [ -n "${PYTHON:-}" ]; then
    if ! "$PYTHON" -c "$new_enough"; then
        echo "setup: error: PYTHON=$PYTHON is not a working Python 3.10 or later." >&2
        exit 1
    fi
    exec "$PYTHON" scripts/setup.py
fi

for condition in "$tested" "$new_enough"; do
    for name in $names; do
        if "$name" -c "$condition" >/dev/null 2>&1; then
            exec "$name" scripts/setup.py
        fi
    done
done

echo "setup: error: no Python 3.10 or later on PATH (looked for: $names)." >&2
echo "setup: hint: install one, or name it: make setup PYTHON=/path/to/python3.12" >&2
exit 1
