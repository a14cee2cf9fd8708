#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write the seeds of the fuzz targets: make-corpus.py DIRECTORY (tests/fuzz/corpus).

The seeds stand in the tree; this says where they come from and makes them again.  Other
files of a corpus are inputs that once made a target fail, named for what they broke.
Needs gcc, GNU binutils and xz.
"""

import os
import struct
import subprocess
import sys
import tempfile

# ------------------------------------------------------------------ proc_maps

MAPS = {
    'program': b'''\
55d0c0a00000-55d0c0a01000 r--p 00000000 08:01 7                          /bin/program
55d0c0a01000-55d0c0a02000 r-xp 00001000 08:01 7                          /bin/program
55d0c0a02000-55d0c0a03000 rw-p 00002000 08:01 7                          /bin/program
55d0c1b00000-55d0c1b21000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000021000 rw-p 00000000 00:00 0 
7f0000021000-7f0004000000 ---p 00000000 00:00 0 
7f00a0000000-7f00a0022000 r--p 00000000 08:01 1234                       /usr/lib/libc.so.6
7f00a0022000-7f00a017a000 r-xp 00022000 08:01 1234                       /usr/lib/libc.so.6
7ffc1a000000-7ffc1a021000 rw-p 00000000 00:00 0                          [stack]
7ffc1a1b0000-7ffc1a1b4000 r--p 00000000 00:00 0                          [vvar]
7ffc1a1b4000-7ffc1a1b6000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
''',
    'deleted': b'''\
1000-2000 r-xp 00000000 08:01 7 /tmp/x (deleted)
2000-3000 r-xp 00000000 08:01 8 /tmp/x (deleted) (deleted)
3000-4000 r-xp 00000000 08:01 9 (deleted)
4000-5000 rwxs 00000000 00:05 10 /SYSV00000000 (deleted)
''',
    'names': b'''\
1000-2000 r-xp 00000000 08:01 7    /a b/c  d
2000-3000 r-xp 00000000 08:01 8    /with\\012newline\\012
3000-4000 r-xp 00000000 08:01 9    /not\\01an\\0escape\\
4000-5000 r-xp 00000000 08:01 10   relative
5000-6000 r-xp 00000000 00:2a 11   anon_inode:[perf_event]
''',
    'anonymous': b'''\
1000-2000 r-xp 00000000 00:00 0
2000-3000 rwxp 00000000 00:00 0 [anon:v8: code]
3000-4000 r-xp 00000000 00:00 0 [anon_shmem:jit]
4000-5000 r-xp 00000000 00:01 1024 /memfd:jit (deleted)
5000-6000 r-xs 00000000 00:01 1025 /dev/zero (deleted)
6000-7000 r-xp 00000000 00:00 0 [stack:1234]
7000-8000 r-xp 00000000 00:00 0 [uprobes]
''',
    'devices': b'''\
1000-2000 rwxs 00000000 00:06 1 /dev/dri/card0
2000-3000 r-xp 00000000 00:06 2 /dev/mem
3000-4000 r-xs 00000000 00:19 3 /dev/shm/code
4000-5000 r-xp 00000000 00:0f 4 /anon_hugepage (deleted)
200000-400000 r-xp 00000000 00:00 0 /bin/program
''',
    'damaged': b'''\
1000-2000 r-xp 00000000 08:01 7 /first

2000-1000 r-xp 00000000 08:01 7 /upside-down
3000-4000 r-xp 0000
zzzz-5000 r-xp 00000000 08:01 7 /not-a-number
5000-6000 r-xp 00000000 08:01 99999999999999999999 /large
6000-7000 r-xp fffffffffffff001 08:01 7 /offset
7000-8000 rwxq 00000000 08:01 7 /permissions
10000000000000000-20000000000000000 r-xp 00000000 08:01 7 /wide
8000-9000 r-xp 00000000 08:01 7 /last-without-newline''',
    'out-of-order': b'''\
5000-9000 r-xp 00000000 08:01 7 /a
1000-2000 r-xp 00000000 08:01 8 /below
8000-a000 r-xp 00000000 08:01 9 /overlaps
9000-a000 r-xp 00000000 08:01 7 /a
9000-a000 r-xp 00000000 08:01 7 /a
''',
    'highest': b'''\
0-1 r-xp 00000000 00:00 0
fffffffffffff000-ffffffffffffffff r-xp 00000000 00:00 0 [top]
ffffffffffffffff-ffffffffffffffff r-xp 00000000 00:00 0
''',
    'empty': b'',
}

# The object that follows the text lies at 0x10000000: see fuzz_proc_maps.c.
IMAGE_LINES = b'''\
10000000-10001000 r-xp 00000000 08:01 7 /lib/object.so
10001000-10002000 rw-p 00000000 08:01 7 /lib/object.so
10002000-10003000 rw-p 00000000 00:00 0
'''
VDSO_LINES = b'10000000-10002000 r-xp 00000000 00:00 0 [vdso]\n'

# --------------------------------------------------------------- elf_symbols

SOURCE = '''
#define PUBLIC __attribute__((visibility("default")))
extern int elsewhere(int);
static __attribute__((noinline)) int local_function(int x) { return x * 3; }
PUBLIC int public_function(int x) { return local_function(x) + elsewhere(x); }
PUBLIC int alias(int x) __attribute__((alias("public_function")));
static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
PUBLIC int indirect(void) __attribute__((ifunc("choose")));
PUBLIC int _ZN5space4nameEi(int x) { return x; }
PUBLIC int data[4] = { 1, 2 };
'''
VERSIONS = 'V1 { public_function; }; V2 { indirect; alias; } V1;\n'
COMPILE = ['gcc', '-O1', '-fPIC', '-ffreestanding', '-fno-asynchronous-unwind-tables',
           '-fcf-protection=none', '-Wa,-mx86-used-note=no', '-fno-ident', '-fvisibility=hidden']
LINK = COMPILE + ['-nostdlib', '-shared', '-Wl,-z,noseparate-code', '-Wl,-z,norelro',
                  '-Wl,--hash-style=gnu', '-Wl,--build-id=sha1', '-Wl,-z,max-page-size=4096']


def run(*words, cwd=None):
    subprocess.run(words, check=True, cwd=cwd)


def elf_seeds(folder, write):
    def run_there(*words):
        run(*words, cwd=folder)  # relative names: no path of this machine gets into a seed

    def read(name):
        with open(os.path.join(folder, name), 'rb') as file:
            return file.read()

    for name, text in (('source.c', SOURCE), ('versions', VERSIONS)):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
            file.write(text)
    run_there(*COMPILE, '-c', '-o', 'relocatable', 'source.c')
    run_there(*LINK, '-o', 'shared', 'source.c')
    run_there('objcopy', '--only-keep-debug', 'shared', 'debug-file')
    run_there('strip', '-s', '-o', 'stripped', 'shared')
    run_there('xz', '-k', '-C', 'crc32', 'shared')
    run_there('objcopy', '--add-section', '.gnu_debugdata=shared.xz', 'stripped', 'debugdata')
    run_there('objcopy', '--add-gnu-debuglink=debug-file', 'stripped', 'debuglink')
    run_there(*LINK, '-Wl,-z,now', '-Wl,--version-script=versions', '-o', 'versioned',
              'source.c')
    run_there(*LINK, '-g', '-gz=zlib', f'-ffile-prefix-map={folder}=.', '-o',
              'compressed-dwarf', 'source.c')
    run_there(*LINK, '-Wl,--hash-style=sysv', '-o', 'sysv-hash', 'source.c')
    for name in ('relocatable', 'shared', 'debug-file', 'stripped', 'debugdata', 'debuglink',
                 'versioned', 'compressed-dwarf', 'sysv-hash'):
        write('elf_symbols', name, read(name))
    shared = read('shared')
    write('elf_symbols', 'header-only', shared[:64])
    write('elf_symbols', 'cut', shared[:len(shared) * 2 // 3])
    write('elf_symbols', 'empty', b'')
    headers = struct.unpack_from('<Q', shared, 40)[0]  # e_shoff
    write('elf_symbols', 'odd-section-headers',
          shared[:40] + struct.pack('<Q', headers + 3) + shared[48:headers] + bytes(3) +
          shared[headers:])
    segments = shared[64:64 + 56 * shared[56]]
    write('elf_symbols', 'odd-segments',
          shared[:32] + struct.pack('<QQ', len(shared) + 1, 0) + shared[48:60] + bytes(4) +
          shared[64:] + bytes(1) + segments)
    write('proc_maps', 'object', IMAGE_LINES + b'\0' + shared)
    write('proc_maps', 'vdso', VDSO_LINES + b'\0' + shared)


# ----------------------------------------------------------------- map_hints

HINTS = {
    'usual': b'./libtesta.o@257,0x7f864c0000,0x60,0;lib.so,4096,96\n',
    'file': b'# where the plugins are\nplugin.o,0x1000,0x60\n\n plugin.so , 0X2000,1,2\r\n#',
    'paths': b'a,b@c,1.so@12,3,4;a@1@2,3,4;a@1.so,3,4;@1,2,3',
    'limits': b'a,0xfffffffffffffffe,1;a,1,4294967296;a,1,1,0x7ffffffffffffffe;a@2147483647,1,1',
    'wrong': b'@12,3,4;a@0,3,4;a,;a,0x,4;a,3,0;a,3,4,5,6;a,0xffffffffffffffff,1;;,,,',
    'empty': b'',
}

HINTED_SOURCE = '''
extern int elsewhere(int);
int function(int x) { return elsewhere(x) + 1; }
int leaf(int x) { volatile char room[200]; room[0] = x; return elsewhere(room[0]); }
'''
HINTED_COMPILE = ['gcc', '-O1', '-fPIC', '-ffreestanding', '-fasynchronous-unwind-tables',
                  '-fcf-protection=none', '-Wa,-mx86-used-note=no', '-fno-ident']
HINTED_LINK = HINTED_COMPILE + ['-nostdlib', '-shared', '-Wl,-z,norelro', '-Wl,--build-id=none',
                                '-Wl,-z,max-page-size=4096', '-Wl,-z,noseparate-code', '-s']


def hint_seeds(folder, write):
    source, output = os.path.join(folder, 'hinted.c'), os.path.join(folder, 'hinted')
    with open(source, 'w', encoding='utf-8') as file:
        file.write(HINTED_SOURCE)
    for name, words in (('relocatable', HINTED_COMPILE + ['-c']),
                        ('relocatable-large', HINTED_COMPILE + ['-c', '-mcmodel=large']),
                        ('sections', HINTED_COMPILE + ['-c', '-ffunction-sections']),
                        ('shared', HINTED_LINK)):
        run(*words, '-o', output, source)
        with open(output, 'rb') as file:
            write('map_hints', name, b'\0' + file.read())


# ------------------------------------------------------------------ perf_map

# Behind a byte that says where the file is cut for the first look.
PERF_MAPS = {
    'v8': b'\x80' + b'''\
c68fafca6b6 5 Eval:~ /srv/a.js:1:1
c68fafcaade 75 JS:~ /srv/a.js:1:1
c68fafcbac6 8 JS:~get size /srv/my files/a.js:4:16
7fbda4006980 a8 JS:^allocate /srv/a.js:3:24
7fbda4007240 238 JS:*allocate file:///srv/a.mjs:3:24
7fbda4006990 10 LazyCompile:+short node:internal/url:12
18c5880 100 Builtin:CallFunction_ReceiverIsAny
''',
    'python': b'\xff' + b'''\
7f0000001000 b py::Router.resolve:/srv/router.py
7f000000100b b py::<module>:<string>
7f0000001016 b py:::
''',
    'overlaps': b'\x30' + b'1000 100 a\n1080 10 b\n10ff 2 c\n0 ffff d\n1000 100 a\n1000 100 a\n',
    'damaged': b'\xc0' + b'''\
1000

1000 10
 1000 10 x
0x10 10 x
10000000000000000 10 x
ffffffffffffffff 10 x
fffffffffffffff0 f highest
1000 ffffffffffffffff x
1000 0 x
1000 10 nul\0nul
JS:* :1:1
2000 10 half a line''',
    'empty': b'\0',
}

# ------------------------------------------------------------------ unwinder

CUT, ZERO = 1, 2
NOISE, STACK, PROGRAM, LIBC, OWN_WORD = range(5)
PC, SP, BP = range(3)
WORDS = 8  # the first word of the stack, as a target of edits


def unwinding(*edits, flags=0, words=0, depth=0):
    return struct.pack('<BHH', flags, words, depth) + b''.join(
        struct.pack('<HBQ', target, kind, value % 2**64) for target, kind, value in edits)


UNWINDINGS = {
    'real': b'',
    'depth-1': unwinding(depth=1),
    'depth-3': unwinding(depth=3),
    'cut-copy': unwinding(flags=CUT, words=40),
    'one-word': unwinding(words=1),
    'all-zero': unwinding(flags=ZERO),
    'pc-zero': unwinding((PC, NOISE, 0)),
    'pc-highest': unwinding((PC, NOISE, -1)),
    'pc-in-stack': unwinding((PC, STACK, 64)),
    'pc-in-program': unwinding((PC, PROGRAM, 0)),
    'pc-in-libc': unwinding((PC, LIBC, 0x1234)),
    'sp-highest': unwinding((SP, NOISE, -8)),
    'sp-odd': unwinding((SP, STACK, 3)),
    'bp-below': unwinding((PC, NOISE, 0x1000), (BP, STACK, -4096)),
    'bp-to-itself': unwinding((PC, STACK, 512), (BP, STACK, 64), (WORDS + 8, STACK, 64),
                              (WORDS + 9, STACK, 512)),
    'code-everywhere': unwinding(*[(WORDS + i, (PROGRAM, LIBC)[i % 2], i * 977)
                                   for i in range(200)]),
    'signal-context': unwinding(*[(WORDS + i, STACK, i * 8 - 64) for i in range(24, 60)]),
    'words-mixed': unwinding(*[(WORDS + i, OWN_WORD, i * 31) for i in range(200)]),
}

# ------------------------------------------------------------------------ cfi

# Version 1, augmentation, alignments 1 and -8, return address 16; rsp+8, return address -8.
CIE_START = struct.pack('<IB', 0, 1)
CIE_RULES = bytes((0x0c, 7, 8, 0x90, 1))


def cie(letters=b'zR', data=b'\x1b', rules=CIE_RULES):
    return CIE_START + letters + bytes((0, 1, 0x78, 16, len(data))) + data + rules


def cfi(program, distance=0, common=cie(), size=256):
    """The function: `size` bytes at 0x100 past its FDE's place."""
    return struct.pack('<HH', len(common), distance) + common + \
        struct.pack('<iIB', 0x100, size, 0) + bytes(program)


CFIS = {
    'empty': b'',
    'leaf': cfi(()),
    'frame-pointer': cfi((0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6), 200),
    'callee-saves': cfi((0x42, 0x0e, 16, 0x8f, 2, 0x42, 0x0e, 24, 0x8e, 3, 0x42, 0x0e, 32, 0x8d,
                         4, 0x42, 0x0e, 40, 0x8c, 5, 0x41, 0x0e, 48, 0x86, 6, 0x41, 0x0e, 56,
                         0x83, 7), 100),
    'remembered': cfi((0x41, 0x0e, 16, 0x83, 2, 0x0a, 0x50, 0x0e, 8, 0xc3, 0x41, 0x0b), 30),
    'remembered-too-often': cfi((0x0a,) * 20),
    'not-remembered': cfi((0x0b,)),
    'advances': cfi((0x02, 3, 0x0e, 16, 0x03, 4, 0, 0x0e, 24, 0x04, 5, 0, 0, 0, 0x0e, 32), 255),
    'extended': cfi((0x05, 3, 2, 0x11, 6, 3, 0x2f, 12, 4, 0x06, 3, 0x12, 7, 0x7e, 0x13, 0x7c)),
    'end-of-stack': cfi((0x07, 16)),
    'elsewhere': cfi((0x08, 3, 0x09, 6, 12, 0x14, 13, 2, 0x15, 14, 2, 0x16, 15, 2, 0x76, 0)),
    'argument-size': cfi((0x2e, 32, 0x0e, 40)),
    'plt': cfi((0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b,
                0x2a, 0x33, 0x24, 0x22), 43),
    'realigned': cfi((0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 6, 0x10, 3, 2, 0x76, 0x70)),
    'untracked': cfi((0x0c, 10, 0)),
    'no-such-register': cfi((0x05, 17, 2, 0x91, 2)),
    'offset-too-large': cfi((0x83, 0xff, 0xff, 0x7f)),
    'numbers-too-long': cfi((0x0e,) + (0xff,) * 12),
    'expression-too-long': cfi((0x0f, 200, 0x77)),
    'offset-of-expression': cfi((0x0f, 2, 0x77, 8, 0x0e, 16)),
    'unknown': cfi((0x1f,)),
    'signal-frame': cfi((), common=cie(b'zRS')),
    'personality': cfi((), common=cie(b'zPLR', b'\x9b\0\0\0\0\x1b\x1b')),
    'augmentation-unknown': cfi((), common=cie(b'zRX')),
    'augmentation-too-short': cfi((), common=cie(b'zPLR', b'\x9b')),
    'not-augmented': cfi((), common=CIE_START + b'\0\1\x78\x10' + CIE_RULES),
    'absolute': cfi((0, 0, 0, 0), common=cie(data=b'\0')),
    'no-cfa': cfi((0x83, 2), common=cie(rules=b'')),
    'no-bytes': cfi((), size=0),
}


def main():
    directory = sys.argv[1]

    def write(target, name, data):
        folder = os.path.join(directory, target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(data)

    for name, data in MAPS.items():
        write('proc_maps', name, data)
    for name, data in HINTS.items():
        write('map_hints', name, data)
    for name, data in PERF_MAPS.items():
        write('perf_map', name, data)
    for name, data in UNWINDINGS.items():
        write('unwinder', name, data)
    for name, data in CFIS.items():
        write('cfi', name, data)
    with tempfile.TemporaryDirectory() as folder:
        elf_seeds(folder, write)
        hint_seeds(folder, write)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
