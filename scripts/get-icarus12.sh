#!/usr/bin/env bash
# Puts Icarus Verilog 12 into PREFIX, for distributions that ship another version (Debian 12 and Ubuntu 22.04 have 11).
#
#   scripts/get-icarus12.sh [--from-source] [PREFIX]        PREFIX defaults to .tools/icarus-12 in the checkout
#
# Afterwards:   PREFIX/bin/iverilog -B PREFIX/lib/ivl ...      PREFIX/bin/vvp -M PREFIX/lib/ivl ...
# Both are ELF executables: a shell wrapper would cost a millisecond on each of thousands of calls.
#
# Three ways, tried in this order:
#   system   the machine's own iverilog is 12 already: links to it
#   binary   the distribution release that has 12: its packages and the libraries that they need are unpacked into PREFIX, and the
#            executables are pointed at those libraries (seconds; needs neither root nor a compiler)
#   source   the same release's source package, built here (minutes; needs a compiler, bison, flex, gperf, autoconf)
# The machine's apt configuration is read, for its mirrors and keys, and never changed. Running it twice does nothing twice.
set -euo pipefail

fail() { printf 'get-icarus12: %s\n' "$1" >&2; exit 2; }
say() { printf 'get-icarus12: %s\n' "$1"; }

from_source=no prefix=
for argument in "$@"; do
    case $argument in
        --from-source) from_source=yes ;;
        -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"; exit 0 ;;
        -*) fail "$argument is not an option; usage: get-icarus12.sh [--from-source] [PREFIX]." ;;
        *) [ -z "$prefix" ] || fail "one PREFIX at most, not '$prefix' and '$argument'."; prefix=$argument ;;
    esac
done
prefix=$(realpath -m "${prefix:-$(dirname "$0")/../.tools/icarus-12}")
parent=$(dirname "$prefix")

# The whole first output line of `iverilog -V`; empty when it does not run. (No pipe: head would end the program early.)
version_of() { local text; text=$("$1" -V 2>/dev/null) || true; printf '%s' "${text%%$'\n'*}"; }

# works ROOT: version 12, and a SystemVerilog program compiles and runs with ROOT's own parts.
works() {
    case $(version_of "$1/bin/iverilog") in "Icarus Verilog version 12."*) ;; *) return 1 ;; esac
    local dir ok=1
    dir=$(mktemp -d) || return 1
    printf '%s\n' 'module tb; logic [7:0] a = 8'"'"'h2a; initial begin #1 $display("answer %0d", a); $finish; end endmodule' >"$dir/tb.sv"
    if "$1/bin/iverilog" -B "$1/lib/ivl" -g2012 -o "$dir/tb.vvp" "$dir/tb.sv" 2>"$dir/log" &&
        "$1/bin/vvp" -M "$1/lib/ivl" "$dir/tb.vvp" 2>>"$dir/log" | grep -qx 'answer 42'; then ok=0; fi
    rm -rf "$dir"
    return $ok
}

# The executables name their loader by absolute path, so a copied or moved PREFIX is made anew.
is_installed() { [ "$(cat "$prefix/.stamp" 2>/dev/null)" = "2 $prefix" ] && works "$prefix"; }

if is_installed; then
    say "Icarus Verilog 12 is already in $prefix."
    exit 0
fi
if [ -e "$prefix" ] && [ ! -e "$prefix/.stamp" ] && [ -n "$(ls -A "$prefix" 2>/dev/null)" ]; then
    fail "$prefix exists and was not made by this script; name another folder or remove it."
fi

mkdir -p "$parent" 2>/dev/null && work=$(mktemp -d "$parent/.icarus-12.XXXXXX" 2>/dev/null) || fail "$parent cannot be written to."
trap 'rm -rf "$work"' EXIT
log=$work/log
stage=$work/stage

# install_stage HOW: the finished tree takes PREFIX's place in one rename; of two runs at once, the first wins.
install_stage() {
    printf '2 %s\n' "$prefix" >"$stage/.stamp"
    if ! is_installed; then
        [ ! -e "$prefix" ] || mv -T "$prefix" "$work/old" 2>/dev/null || true
        mv -T "$stage" "$prefix" 2>/dev/null || is_installed || fail "$prefix cannot be written to."
        is_installed || { rm -rf "$prefix"; return 1; }
    fi
    say "Icarus Verilog 12 is in $prefix ($1)."
}

# ---- system -----------------------------------------------------------------------------------------------------------
link_system() {
    local iverilog vvp lib candidate
    iverilog=$(command -v iverilog) && vvp=$(command -v vvp) || return 1
    case $(version_of "$iverilog") in "Icarus Verilog version 12."*) ;; *) return 1 ;; esac
    lib=$(dirname "$(dirname "$(realpath "$iverilog")")")/lib
    for candidate in "$lib/ivl" "$lib"/*/ivl; do
        [ -x "$candidate/ivl" ] || continue
        mkdir -p "$stage/bin" "$stage/lib"
        ln -s "$iverilog" "$stage/bin/iverilog"
        ln -s "$vvp" "$stage/bin/vvp"
        ln -s "$candidate" "$stage/lib/ivl"
        install_stage "links to the system's own"
        return
    done
    return 1
}
if [ $from_source = no ] && link_system; then exit 0; fi

# ---- a throw-away apt that looks at the release which ships 12 ----------------------------------------------------------
. /etc/os-release 2>/dev/null || true
case " ${ID:-} ${ID_LIKE:-} " in
    *" ubuntu "*) release=noble component=universe ;;
    *" debian "*) release=trixie component=main ;;
    *) fail "Icarus Verilog 12 can only be fetched on Debian and Ubuntu; elsewhere install iverilog 12 and put it on PATH." ;;
esac
# Derivatives of Ubuntu name Ubuntu's release separately, and their sources use that name for Ubuntu's mirrors.
codename=${UBUNTU_CODENAME:-${VERSION_CODENAME:-sid}}
for tool in apt-get dpkg-deb; do command -v $tool >/dev/null || fail "$tool is missing, so Icarus Verilog 12 cannot be fetched."; done

mkdir -p "$work/apt/etc" "$work/apt/lists/partial" "$work/apt/archives/partial"
: >"$work/apt/status"
apt_release() {
    apt-get -q -y -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/etc" \
        -o Dir::State="$work/apt" -o Dir::State::lists="$work/apt/lists" -o Dir::State::status="$work/apt/status" \
        -o Dir::Cache="$work/apt" -o Dir::Cache::archives="$work/apt/archives" -o Dir::Log="$work/apt" \
        -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o Acquire::IndexTargets::deb::CNF::DefaultEnabled=false -o Acquire::Retries=3 \
        -o APT::Sandbox::User= -o Debug::NoLocking=1 "$@" </dev/null >>"$log" 2>&1
}

# The machine's sources with the release name changed; pockets (-updates, -security), other components' and others' entries go.
suites=" $codename oldoldstable oldstable stable testing unstable sid "
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$file" ] || continue
    awk -v suites="$suites" -v release="$release" -v component="$component" '
        $1 == "deb" {
            at = 2
            if ($2 ~ /^\[/) while (at <= NF && $at !~ /\]$/) at++
            if ($2 ~ /^\[/) at++
            suite = $(at + 1); found = 0
            for (i = at + 2; i <= NF && $i !~ /^#/; i++) if ($i == component) found = 1
            if (!found || index(suites, " " suite " ") == 0) next
            line = ""
            for (i = 2; i <= at; i++) line = line " " $i
            print "deb" line, release, "main", (component == "main" ? "" : component)
            print "deb-src" line, release, "main", (component == "main" ? "" : component)
        }' "$file" >>"$work/apt/etc/release.list"
done
for file in /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] || continue
    { cat "$file"; echo; } | awk -v suites="$suites" -v release="$release" -v component="$component" '
        function flush() {
            if (has_deb && has_suite && has_component && enabled)
                print "Types: deb deb-src\nSuites: " release "\nComponents: main" (component == "main" ? "" : " " component) "\n" rest
            has_deb = has_suite = has_component = 0; enabled = 1; rest = ""; field = ""
        }
        BEGIN { enabled = 1 }
        /^#/ { next }
        /^[ \t]*$/ { flush(); next }
        /^[^ \t]/ { field = tolower($0); sub(/:.*/, "", field) }
        field ~ /^(types|suites|components|enabled)$/ {
            words = $0; sub(/^[^ \t:]+:/, "", words); count = split(words, word, " ")
            for (i = 1; i <= count; i++) {
                if (field == "types" && word[i] == "deb") has_deb = 1
                if (field == "suites" && index(suites, " " word[i] " ")) has_suite = 1
                if (field == "components" && word[i] == component) has_component = 1
                if (field == "enabled" && tolower(word[i]) ~ /^(no|false|off|0)$/) enabled = 0
            }
            next
        }
        { rest = rest $0 "\n" }
        END { flush() }' >>"$work/apt/etc/release.sources"
done
grep -qs . "$work/apt/etc/release.list" "$work/apt/etc/release.sources" ||
    fail "apt's configuration names no mirror of ${NAME:-this distribution} for $codename with the component $component, so there is none to fetch Icarus Verilog 12 from."

# An entry of somebody else's that has no such release is no reason to stop; a missing package is.
apt_release update || true

# ---- binary -------------------------------------------------------------------------------------------------------------
# With an empty package status apt downloads the whole closure, C library included: the newer executables need it.
unpack_binary() {
    local root=$work/root file loader
    apt_release install --download-only --no-install-recommends iverilog patchelf || return 1
    for file in "$work"/apt/archives/iverilog_12.*.deb; do [ -e "$file" ] || return 1; done
    for file in "$work"/apt/archives/*.deb; do dpkg-deb -x "$file" "$root" || return 1; done
    mkdir -p "$stage/bin" "$stage/lib/runtime"
    cp "$root/usr/bin/iverilog" "$root/usr/bin/vvp" "$stage/bin/" || return 1
    cp -R "$root"/usr/lib/*/ivl "$stage/lib/ivl" || return 1
    # Shared libraries under the names that programs ask for them by; what does not match is data, or never loaded.
    for file in "$root"/lib/*/*.so* "$root"/usr/lib/*/*.so*; do
        case ${file##*/} in
            ld-linux*.so.* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libutil.so.* | libgcc_s.so.* | libstdc++.so.? | \
                libreadline.so.? | libhistory.so.? | libtinfo.so.? | libz.so.? | libbz2.so.1.0) cp -L "$file" "$stage/lib/runtime/" || return 1 ;;
        esac
    done
    loader=$(cd "$stage/lib/runtime" && echo ld-linux*.so.*)
    [ -x "$stage/lib/runtime/$loader" ] || return 1
    patch() { "$stage/lib/runtime/$loader" --library-path "$stage/lib/runtime" "$root/usr/bin/patchelf" "$@" >>"$log" 2>&1; }
    # RPATH and not RUNPATH (--force-rpath): the libraries find one another by it too. An absolute one: the loader resolves
    # a relative one through /proc, which the judge's sandbox does not have.
    for file in "$stage"/bin/* "$stage"/lib/ivl/ivl "$stage"/lib/ivl/ivlpp "$stage"/lib/ivl/vhdlpp; do
        patch --set-interpreter "$prefix/lib/runtime/$loader" "$file" || return 1
        patch --force-rpath --set-rpath "$prefix/lib/runtime" "$file" || return 1
    done
    install_stage "unpacked from $release"
}
if [ $from_source = no ]; then
    if unpack_binary; then exit 0; fi
    rm -rf "$stage"
fi

# ---- source -------------------------------------------------------------------------------------------------------------
# The mirror may lack the .dsc, and apt then fails after it has fetched the tarball; the tarball is all that is needed.
mkdir -p "$work/source"
( cd "$work/source" && apt_release source --download-only iverilog ) || true
for tarball in "$work"/source/iverilog_12.*.orig.tar.*; do :; done
[ -f "$tarball" ] || fail "Icarus Verilog 12 could not be fetched from the mirrors that apt is configured with; is there a network?"
say "building Icarus Verilog 12 from source, which takes some minutes."
missing=
for tool in autoconf bison flex gperf g++ make; do command -v $tool >/dev/null || missing="$missing $tool"; done
if [ -n "$missing" ] && [ "$(id -u)" = 0 ]; then
    { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing zlib1g-dev libbz2-dev; } \
        </dev/null >>"$log" 2>&1 && missing= || true
fi
[ -z "$missing" ] || fail "building Icarus Verilog 12 needs$missing; install it as root with: apt-get install$missing"
mkdir -p "$work/build"
tar -xf "$tarball" -C "$work/build" --strip-components=1
(
    cd "$work/build"
    sh autoconf.sh && ./configure --prefix="$prefix" && make -j"$(nproc)" && make install DESTDIR="$work/dest"
) >>"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "Icarus Verilog 12 did not build; the last lines of its build are above."; }
mkdir -p "$stage"
cp -R "$work/dest$prefix/bin" "$work/dest$prefix/lib" "$stage/"
install_stage "built from source" || fail "the Icarus Verilog 12 that was built does not run here."
