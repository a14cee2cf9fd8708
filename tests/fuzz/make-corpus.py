#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write the seeds of the fuzz targets: make-corpus.py DIRECTORY (tests/fuzz/corpus).

The seeds are in the tree; this script makes them again.  Other files of a corpus are inputs
that once made a target fail, named for what they broke.  Needs gcc, GNU binutils and xz.
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
# Of one whose program headers are at 0x2000 in the file.
MOVED_LINES = b'''\
10000000-10001000 r--p 00000000 08:01 7 /lib/object.so
10001000-10002000 ---p 00001000 08:01 7 /lib/object.so
10002000-10003000 r-xp 00002000 08:01 7 /lib/object.so
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
    jit_seeds(read('relocatable'), shared, write)
    debug_data_seeds(shared, read('shared.xz'), write)
    write('proc_maps', 'object', IMAGE_LINES + b'\0' + shared)
    write('proc_maps', 'vdso', VDSO_LINES + b'\0' + shared)
    moved = shared[:32] + struct.pack('<Q', 0x2000) + shared[40:]
    write('proc_maps', 'moved-headers',
          MOVED_LINES + b'\0' + moved.ljust(0x2000, b'\0')[:0x2000] + segments)


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

# The first byte says how much of the file is written before the first read, in 255ths.
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
    'prefixes': b'\x80' + b'''\
0x00007f0a08000120 0x0000000000000060 java.lang.Object java.util.ArrayList.get(int)
0x00007f0a08000180 0x0000000000000028 StubRoutines (1)
0x7f3c54001a60 4c0 $lists:map/2
0X1000 0X10 upper
0x 10 x
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


# ------------------------------------------------------------------- options

OPTIONS = {
    'empty': b'',
    'usual': b'HEAPSAMPLE_INTERVAL=64k\0HEAPSAMPLE_OUTPUT=/tmp/%e.%p.%n.%r.pb.gz\0PATH=/bin\0',
    'numbers': b'_INTERVAL=256g\0_MAX_INTERVAL=4m\0_DEPTH=1024\0_STACK=8k\0_RING=65537\0'
               b'_MEMORY=16m\0_MAX_CPU=5%\0_BLOCK=auto\0_SEED=0xffffffffffffffff\0_KEEP=10,1g\0'
               b'_OOM=99\0_TIME_INTERVAL=10m\0_INUSE_INTERVAL=1024t\0',
    'words': b'=check\0_LOG=debug\0_LABELS=size,thread,tid\0_SYMBOLIZE=lines\0_JIT=none\0'
             b'_CHILDREN=all\0_SIGNAL=RTMIN+1\0_FINAL=0\0_ACTIVE=0\0',
    'texts': b'_HEAPS=pool=64k,*=1m\0_PROGRAMS=*a*b?c*,x\0_SKIP_SYMBOL_PREFIX=std::,/usr,[\0'
             b'_DROP_FRAMES=malloc|.*\0_STREAM=%%%h%t\0_STATS=s.%p\0_MAP=@file\0_LOGFILE=log\0',
    'wrong': b'_INTERVAL=18446744073709551616\0_INTERVAL=1\0_DEPTH=-1\0_RING=1x\0_OUTPUT=%z\0'
             b'_OUTPUT=\0_HEAPS=,\0_HEAPS==1\0_SKIP_SYMBOL_PREFIX=,,\0_SEED=0x\0_KEEP=1,\0'
             b'_INTERVALL=1\0_SINGAL=1\0HEAPSAMPLES=1\0_ROOT=x\0_\0=\0',
    'globs': b'_PROGRAMS=*a*a*a*a*a*a*a*a*a*a*b,????????????????????,\0',
    'long': b'_OUTPUT=' + b'%p' * 511 + b'\0_STATS=' + b'%e' * 600 + b'\0_HEAPS=' +
            b','.join(b'h%d=1' % i for i in range(150)) + b'\0',
}

# -------------------------------------------------------------------- limits

LIMITS = {
    'empty': b'',
    'version-2': b'\x4a0::/a\n\0100 50 3 1 0 20 0\n\0MemTotal:  16384 kB\n\0007000\n\0008000\n\0'
                 b'anon 1\ninactive_file 100\n\0',
    'version-1': b'\x5a4:cpu:/a\n3:memory:/a\n0::/a\n\0100 50 3 1 0 20 0\n\0MemTotal:  1 kB\n\0'
                 + b'\0' * 6 + b'95\0100\0',
    'container': b'\x320::/not/here\n\0001 1\n\0\0\0\0\0008\n\0max\n\0',
    'root': b'\x320::/\n\000999999999999999999999 1 1 1 1 1\n\0MemTotal:\0\0\0\0007\n\0' b'7\n\0',
    'damaged': b'\x010:\n::\n0::\n0::a\nmemory\n\0 \0MemTotal\nMemTotal:x\n\0-1\0max\0',
    'long-path': b'\x010::/' + b'a/' * 3000 + b'\n\0' + b'9' * 300 + b'\0',
}

# --------------------------------------------------------------------- names

NAMES = {
    'empty': b'',
    'plain': b'main\0main,mai,*',
    'c++': b'_ZNSt6vectorIiSaIiEE9push_backEOi\0std::,/usr,[',
    'plt': b'_ZN5space4nameEi@plt\0*@plt',
    'rust': b'_ZN4core3fmt5write17h0123456789abcdefE',
    'rust-v0': b'_RNvCskwGfYPst2Cb_3foo16example_function',
    'punycode': b'_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y',
    'nested': b'_Z' + b'N' * 200 + b'1a' + b'E' * 200 + b'v',
    'expanding': b'_Z1fI' + b'S_S_' * 60 + b'E',
    'substitutions': b'_ZN1aIS_IS0_IS1_IS2_IS3_EEEEEE1bEv',
    'v8': b'JS:*resolve /srv/app/router.js:12:17\0JS*',
    'v8-url': b'LazyCompile:~ file:///a b/c.mjs:4294967296:1',
    'cpython': b'py::Router.resolve:/srv/app/router.py',
    'utf-8': 'caf\u00e9 \u20ac \U0001f600'.encode() + b'\xc3\xf0\x9f\xed\xa0\x80\xc0\x80\xff',
}

# --------------------------------------------------------------- ring_record

RECORD = '<QQQIIIBBHIIQQ'  # up to the registers of struct hs_record
REGISTERS = 8
ALLOCATION, TOMBSTONE, HINT, UNHINT = range(4)
STACK_CUT, STACKLESS, WEIGHED, WALKED = 1, 2, 4, 8
OWN_NUMBER, ABANDONED, OWN_COOKIE = 1, 2, 4


def record(stack=b'', kind=ALLOCATION, heap=1, flags=0, labels=0, stack_bytes=None, length=None,
           given=0, number=0, cookie=0, address=0x1000, size=100, epoch=1):
    body = struct.pack(RECORD, address, size, 1, epoch, labels, 7, kind, heap, flags,
                       len(stack) if stack_bytes is None else stack_bytes, 0, 0, 0)
    if flags & WALKED:
        body += stack.ljust(8 * REGISTERS, b'\0')
    else:
        body += struct.pack(f'<{REGISTERS}Q', 0x1234, 0x7000, *[0] * (REGISTERS - 2)) + stack
    length = len(body) if length is None else length
    return struct.pack('<BHQQ', given, length - 1, number, cookie) + body[:length]


def frames(count, mapping=0):
    return b''.join(struct.pack('<QII', 0x400000 + i, mapping, 0) for i in range(count))


RECORDS = {
    'empty': b'',
    'allocation': record(bytes(64)) + record(flags=STACKLESS) + record(kind=TOMBSTONE),
    'walked': record(frames(3), flags=WALKED) * 2 + record(frames(3, 0xffffffff), flags=WALKED),
    'walked-too-deep': record(frames(40), flags=WALKED),
    'walked-and-a-half': record(frames(2) + b'half', flags=WALKED),
    'stack-too-long': record(bytes(64), stack_bytes=0xfffffff0),
    'walked-too-long': record(frames(1), flags=WALKED, stack_bytes=0x7fffffff),
    'short': record(length=40) + record(length=1),
    'labels': record(labels=1) + record(frames(1), flags=WALKED, labels=0xffffffff),
    'heaps': record(heap=0) + record(heap=255) + record(heap=2),
    'weights': record(flags=WEIGHED, size=2**64 - 1) + record(size=2**64 - 1),
    'kind': record(kind=4) + record(kind=255, stack=b'/a\0'),
    'hints': record(b'/lib/x.so\0', kind=HINT, address=0x10000, size=0x1000) +
             record(kind=UNHINT, address=0x10800, size=0x100),
    'hint-without-end': record(b'/lib/x.so' * 9, kind=HINT, address=0x10000, size=0x1000),
    'hint-empty': record(kind=HINT, address=0x10000, size=0x1000, stack_bytes=0),
    'hint-range': record(b'/a\0', kind=HINT, address=2**64 - 1, size=2) +
                  record(b'/a\0', kind=HINT, address=0, size=2**64 - 1) +
                  record(kind=UNHINT, address=2**64 - 1, size=2**64 - 1),
    'abandoned': record(given=ABANDONED) + record(given=ABANDONED | OWN_NUMBER),
    'numbers': record(given=OWN_NUMBER, number=2**64 - 1) + record(given=OWN_NUMBER, number=1) +
               record(),
    'cookies': record(given=OWN_COOKIE, cookie=2**64 - 1) +
               record(given=OWN_COOKIE, cookie=1 << 32) + record(given=OWN_COOKIE, cookie=1),
    'epochs': record(epoch=0) + record(epoch=2),
}

# ------------------------------------------------------------------- gdb_jit

JIT_MEMORY = 0x10000000


def jit_list(objects, entries=None, version=1, first=None):
    """A descriptor, its entries and their objects."""
    count = len(objects) if entries is None else len(entries)
    start = [JIT_MEMORY + 24 + 32 * i for i in range(count)] + [0]
    at, made = JIT_MEMORY + 24 + 32 * count, []
    for i, image in enumerate(objects):
        made.append((start[i + 1], start[i - 1] if i > 0 else 0, at, len(image)))
        at += len(image)
    return struct.pack('<IIQQ', version, 1, 0, start[0] if first is None else first) + b''.join(
        struct.pack('<QQQQ', *entry) for entry in entries or made) + b''.join(objects)


def jit_seeds(relocatable, shared, write):
    for name, data in {
            'empty': b'',
            'one': jit_list([relocatable]),
            'two': jit_list([relocatable, shared]),
            'withdrawn': jit_list([shared]) + struct.pack('<IIQQ', 1, 2, 0, 0),
            'nothing': jit_list([]),
            'version': jit_list([shared], version=2),
            'to-itself': jit_list([], [(JIT_MEMORY + 24, 0, JIT_MEMORY, 64)]),
            'circle': jit_list([], [(JIT_MEMORY + 56, 0, JIT_MEMORY, 64),
                                    (JIT_MEMORY + 24, 0, JIT_MEMORY, 65)]),
            'to-nowhere': jit_list([], first=8),
            'highest': jit_list([], first=2**64 - 8),
            'object-too-large': jit_list([], [(0, 0, JIT_MEMORY, 2**63)]),
            'object-nowhere': jit_list([], [(0, 0, 4096, 4096)]),
    }.items():
        write('gdb_jit', name, data)


# ------------------------------------------------------------------ eh_frame

def eh_frame_object(entries, fde_start=0x200, encoding=0x3b, count=None, length=None, pc=0x210):
    """.eh_frame_hdr at 0, a CIE and an FDE behind its table, code at 0x200 for 256 bytes."""
    table = 12 + 8 * len(entries)
    common = cie()
    common_entry = struct.pack('<I', len(common)) + common
    place = table + len(common_entry)
    function = struct.pack('<IiIB', place + 4 - table, fde_start - (place + 8), 256, 0) + bytes(
        (0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6))
    header = struct.pack('<BBBBiI', 1, 0x1b, 3, encoding, table - 4,
                         len(entries) if count is None else count)
    header += b''.join(struct.pack('<ii', start, place if fde is None else fde)
                       for start, fde in entries)
    body = header + common_entry + struct.pack('<I', len(function)) + function
    return struct.pack('<HHH', 0, table if length is None else length, pc) + body


EH_FRAMES = {
    'empty': b'',
    'usual': eh_frame_object([(0x200, None)]),
    'gap': eh_frame_object([(0x200, None)], pc=0x400),
    'two': eh_frame_object([(0x100, 0), (0x200, None)]),
    'unsorted': eh_frame_object([(0x300, None), (0x200, None), (0x100, None)]),
    'count-too-large': eh_frame_object([(0x200, None)], count=0x20000000),
    'count-of-none': eh_frame_object([(0x200, None)], count=0),
    'no-table': eh_frame_object([(0x200, None)], encoding=0xff),
    'header-too-short': eh_frame_object([(0x200, None)], length=5),
    'header-too-long': eh_frame_object([(0x200, None)] * 3, length=0xffff),
    'fde-elsewhere': eh_frame_object([(0x200, -4096)]),
    'fde-at-end': eh_frame_object([(0x200, 0x7ffe)]),
    'fde-in-itself': eh_frame_object([(0x200, 4)]),
    # As a section without a header: entries from the first byte on.
    'section': (lambda common: struct.pack('<HHHI', 0, 0, 0, len(common)) + common + b''.join(
        struct.pack('<IIiIB', 13, len(common) + 8 + 17 * i, 64 * i, 32, 0)
        for i in range(4)))(cie()),
    'section-long-length': struct.pack('<HHHIQ', 0, 0, 0, 0xffffffff, 2**63) + cie(),
}

# ---------------------------------------------------------------- debug_data


def debug_data_seeds(shared, compressed, write):
    for name, data in {
            'empty': b'',
            'compressed': b'\0' + compressed,
            'compressed-cut': b'\0' + compressed[:len(compressed) // 2],
            'compressed-twice': b'\0' + compressed * 2,
            'no-stream': b'\0' + compressed[6:],
            'image': b'\1' + shared,
            'image-cut': b'\1' + shared[:600],
            'image-empty': b'\1',
            'zeros': b'\1' + bytes(4096),
    }.items():
        write('debug_data', name, data)


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
    for target, seeds in (('options', OPTIONS), ('limits', LIMITS), ('names', NAMES),
                          ('ring_record', RECORDS), ('eh_frame', EH_FRAMES)):
        for name, data in seeds.items():
            write(target, name, data)
    with tempfile.TemporaryDirectory() as folder:
        elf_seeds(folder, write)
        hint_seeds(folder, write)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
