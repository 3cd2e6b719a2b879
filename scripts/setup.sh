#!/usr/bin/env bash
# Installs what the Makefile's targets need, and nothing twice.
#
#   scripts/setup.sh base       what `make demo` needs: Icarus Verilog, bubblewrap, and VeriEval with torch in .venv
#   scripts/setup.sh dev        what `make test` and `make lint` need: also jax, other simulators and the test tools
#   scripts/setup.sh packages   prints the Debian or Ubuntu packages of both, for: apt-get install $(scripts/setup.sh packages)
#
# As root it installs missing packages with apt-get; otherwise it names them and stops. PYTHON chooses the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'setup: %s\n' "$1" >&2; exit 2; }
say() { printf 'setup: %s\n' "$1"; }

# command:package, the command telling whether the package is needed
base_tools="iverilog:iverilog bwrap:bubblewrap"
dev_tools="g++:g++ make:make verilator:verilator yosys:yosys"

case ${1:-} in
    base) tools=$base_tools extras='[torch]' ;;
    dev) tools="$base_tools $dev_tools" extras='[torch,jax,dev]' ;;
    packages)
        for entry in $base_tools $dev_tools; do printf '%s ' "${entry#*:}"; done
        printf 'python3 python3-venv libpython3-dev\n'
        exit 0
        ;;
    *) fail "say what to set up: base, dev or packages." ;;
esac

# The first Python on PATH that is new enough and can make a virtual environment; empty when there is none.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
            "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            # Inside an active virtual environment, the one that it was made with.
            "$candidate" -c 'import sys; print(sys.executable if sys.prefix == sys.base_prefix else sys._base_executable)'
            return
        fi
    done
}

apt_updated=no
apt_install() {
    command -v apt-get >/dev/null || fail "$* is missing, and there is no apt-get to install it with; install it and try again."
    [ "$(id -u)" = 0 ] || fail "these packages are missing: $*; install them as root with: apt-get install $*"
    if [ $apt_updated = no ]; then
        say "installing $*"
        apt-get -qq update </dev/null || say "apt-get update reported an error; going on with the package lists there are."
        apt_updated=yes
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" </dev/null >/dev/null
}

# ---- system packages ------------------------------------------------------------------------------------------------------
missing=
for entry in $tools; do
    command -v "${entry%%:*}" >/dev/null || missing="$missing ${entry#*:}"
done
python=$(find_python)
if [ -z "$python" ] && [ -z "${PYTHON:-}" ]; then missing="$missing python3 python3-venv"; fi
# shellcheck disable=SC2086  # a list of words
if [ -n "$missing" ]; then apt_install $missing || fail "apt-get could not install$missing; its messages are above."; fi
[ -n "$python" ] || python=$(find_python)
if [ -z "$python" ] && [ -z "${PYTHON:-}" ] && [ "$(id -u)" = 0 ]; then
    # A release whose own python3 is older may carry a newer one beside it.
    for version in 3.11 3.12; do
        if apt_install "python$version" "python$version-venv" 2>/dev/null; then break; fi
    done
    python=$(find_python)
fi
[ -n "$python" ] || fail "VeriEval needs Python 3.11 or newer with its venv module; install one, or name it with PYTHON=/path/to/python3."

# cocotb runs Python inside the simulator, as a shared library, which Debian has in a package of its own.
if ! "$python" - <<'PYTHON'
import ctypes, os, sys, sysconfig
name = sysconfig.get_config_var("INSTSONAME") or ""
places = [os.path.join(sysconfig.get_config_var("LIBDIR") or "", name), name]
for place in places:
    try:
        ctypes.CDLL(place)
        sys.exit(0)
    except OSError:
        pass
sys.exit(1)
PYTHON
then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    apt_install "libpython$version" || fail "$python has no shared library; use a Python that has one (built with --enable-shared)."
fi

# ---- Python packages --------------------------------------------------------------------------------------------------------
# The stamp says what the environment was made from: this folder, this Python, these requirements.
key=$({ pwd; "$python" -VV; cat pyproject.toml constraints.txt; } | sha256sum | cut -d' ' -f1)
stamp() { printf '.venv/.stamp-%s' "$1"; }
is_current() { [ -x .venv/bin/verieval ] && [ "$(cat "$(stamp "$1")" 2>/dev/null)" = "$key" ]; }
if is_current "$1" || is_current dev; then exit 0; fi

say "installing VeriEval's Python packages into .venv (${1}; $("$python" -V))"
if ! .venv/bin/python -c 'import pip' 2>/dev/null || ! cmp -s <(.venv/bin/python -VV) <("$python" -VV) ||
    ! grep -qsF "$PWD/.venv" .venv/bin/activate; then
    "$python" -m venv --clear .venv || fail "$python cannot make a virtual environment in .venv."
fi
rm -f .venv/.stamp-*
.venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".$extras" </dev/null ||
    fail "pip could not install VeriEval's requirements; its message is above."
printf '%s\n' "$key" >"$(stamp "$1")"
