# SPDX-License-Identifier: Apache-2.0
# Functions shared by the package tests; source this file with `.`.
roots=${FG_ROOTS:-$HOME/.cache/fulgurite-roots} # what is downloaded once

skip() {
    echo "skipped: $*"
    exit 77
}

# plugin_wheel SOURCE: prints the folder of the CPU plugin's wheel, in the pinned version.
plugin_wheel() {
    local folder
    folder=$roots/wheels-$(sha256sum "$1/share/plugins/cpu.txt" | cut -c1-12)
    if [ ! -d "$folder" ]; then
        mkdir -p "$roots"
        rm -rf "$folder.part"
        python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
            --dest "$folder.part" -r "$1/share/plugins/cpu.txt" >&2 || return 1
        mv -T "$folder.part" "$folder" 2>/dev/null || [ -d "$folder" ]
    fi
    echo "$folder"
}

# lay_out_demo SOURCE FOLDER: what tools/demo needs besides the program.
lay_out_demo() {
    mkdir -p "$2/tools" "$2/share"
    cp "$1/tools/demo" "$2/tools/"
    cp -r "$1/examples" "$2/"
    cp -r "$1/share/data" "$2/share/"
}

# make_root KIND [DEPENDENCIES]: makes the archive of a root, if there is none, and prints its path.
# KIND "python" is Debian's base system with Python and pip; "deb" has what DEPENDENCIES, in the form
# of a package's Depends, ask for besides.
make_root() {
    local kind=$1 needed=${2:-} archive root codename
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
    archive=$roots/$codename-$kind-$(sha256sum <<<"$needed python3-pip" | cut -c1-12).tar.zst
    echo "$archive"
    [ ! -f "$archive" ] || return 0
    mkdir -p "$roots"
    root=$(mktemp -d "$roots/.root.XXXXXX")
    if [ "$kind" = python ]; then
        debootstrap --variant=minbase --include=python3-pip,python3-venv "$codename" "$root" \
            http://deb.debian.org/debian >"$root.log" 2>&1
    else
        tar --zstd -xf "$(make_root python)" -C "$root" &&
            cp -L /etc/resolv.conf "$root/etc/resolv.conf" &&
            unshare --mount bash -c 'mount -t proc proc "$1/proc" && chroot "$1" /usr/bin/env -i \
                PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive bash -c "
                apt-get -qq update && apt-get -qq satisfy -y --no-install-recommends \"\$1\"" - "$2"' \
                - "$root" "$needed" >"$root.log" 2>&1
    fi || { tail -5 "$root.log" >&2; rm -rf "$root" "$root.log"; return 1; }
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root.log"
    tar --zstd -cf "$archive.$$" -C "$root" . && mv "$archive.$$" "$archive"
    rm -rf "$root"
}

# enter ROOT COMMAND...: runs a command in the root, without a network, under a bare environment.
enter() {
    # shellcheck disable=SC2016 # for the inner shell
    unshare --mount --net --pid --fork bash -c '
        root=$1
        shift
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
            exec chroot "$root" /usr/bin/env -i HOME=/user PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
                LANG=C.UTF-8 PIP_NO_INDEX=1 PIP_FIND_LINKS=/packages PIP_ROOT_USER_ACTION=ignore \
                PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 "$@"' - "$@"
}

# needs_root: what a clean root takes.
needs_root() {
    [ "$(id -u)" = 0 ] || skip "only root can create a clean root"
    command -v debootstrap >/dev/null && command -v zstd >/dev/null || skip "no debootstrap or no zstd"
    [ -x /usr/bin/dpkg ] && grep -q '^ID=debian' /etc/os-release || skip "not on Debian"
    unshare --mount --net --pid --fork mount -t proc proc /proc 2>/dev/null || skip "no namespaces here"
}
