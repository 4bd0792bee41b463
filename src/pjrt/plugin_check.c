/* plugin_check.c - checks a plugin's file before it is loaded, so that an incomplete or foreign
 * file results in a clear message instead of an obscure one of the dynamic loader or a bus error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/print.h"
#include "pjrt/plugin.h"

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#error "there are no PJRT plugins for this processor"
#endif
#if __BYTE_ORDER == __LITTLE_ENDIAN
#define HOST_DATA ELFDATA2LSB
#else
#define HOST_DATA ELFDATA2MSB
#endif

static const char *machine_name(unsigned machine, char *scratch, size_t size)
{
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "i386";
    case EM_ARM: return "arm";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    default: snprintf(scratch, size, "machine %u", machine); return scratch;
    }
}

static fg_status check_identity(const char *path, const Elf64_Ehdr *header, fg_error *err)
{
    const unsigned char *ident = header->e_ident;
    if (memcmp(ident, ELFMAG, SELFMAG) != 0)
        return fgi_fail(err, FG_EPLUGIN, "'%s' is not a shared library (no ELF header)", path);
    char theirs[24], ours[24];
    if (ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == HOST_DATA &&
        header->e_machine != HOST_MACHINE)
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' is built for %s, this machine is %s", path,
                        machine_name(header->e_machine, theirs, sizeof theirs),
                        machine_name(HOST_MACHINE, ours, sizeof ours));
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != HOST_DATA)
        return fgi_fail(err, FG_EPLUGIN,
                        "plugin '%s' is built for another architecture (word size or byte order)",
                        path);
    if (header->e_type != ET_DYN)
        return fgi_fail(err, FG_EPLUGIN, "'%s' is an ELF file but not a shared library", path);
    return FG_OK;
}

/* offset + count * size, saturating on overflow. */
static uint64_t end_of(uint64_t offset, uint64_t count, uint64_t size)
{
    uint64_t end;
    if (__builtin_mul_overflow(count, size, &end) || __builtin_add_overflow(end, offset, &end))
        return UINT64_MAX;
    return end;
}

/* The minimum size of the file according to its headers: loaded segments and section headers. */
static uint64_t wanted_size(int fd, const Elf64_Ehdr *header)
{
    uint64_t requested = end_of(header->e_phoff, header->e_phnum, header->e_phentsize);
    if (header->e_shnum > 0) {
        const uint64_t end = end_of(header->e_shoff, header->e_shnum, header->e_shentsize);
        requested = end > requested ? end : requested;
    }
    for (unsigned i = 0; i < header->e_phnum && header->e_phentsize == sizeof(Elf64_Phdr); i++) {
        Elf64_Phdr segment;
        const off_t at = (off_t)(header->e_phoff + (uint64_t)i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
            break;
        const uint64_t end = end_of(segment.p_offset, 1, segment.p_filesz);
        if (segment.p_type == PT_LOAD && end > requested)
            requested = end;
    }
    return requested;
}

static fg_status check_open_file(const char *path, int fd, fg_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' is not a regular file", path);
    Elf64_Ehdr header = {0};
    const ssize_t got = pread(fd, &header, sizeof header, 0);
    if (got >= SELFMAG && memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return check_identity(path, &header, err);
    if (got < (ssize_t)sizeof header)
        return fgi_fail(err, FG_EPLUGIN,
                        "plugin '%s' is truncated: %lld bytes are too short for a shared library",
                        path, (long long)st.st_size);
    FGI_TRY(check_identity(path, &header, err));
    const uint64_t requested = wanted_size(fd, &header);
    if (requested > (uint64_t)st.st_size)
        return fgi_fail(err, FG_EPLUGIN,
                        "plugin '%s' is truncated: it has %lld bytes, but its header requires "
                        "%llu; install it again",
                        path, (long long)st.st_size, (unsigned long long)requested);
    return FG_OK;
}

fg_status fgi_plugin_check_file(const char *path, fg_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' does not exist", path);
    if (fd < 0)
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' cannot be opened: %s", path,
                        fgi_errno_text(errno));
    const fg_status status = check_open_file(path, fd, err);
    close(fd);
    return status;
}
