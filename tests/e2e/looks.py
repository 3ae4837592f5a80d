"""Machines made up for `memtape triage`: what files say, as a tree of folders or as a recording of looks."""

GIB = 1 << 30
MIB = 1 << 20

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1_MOUNT = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"


def meminfo(total=16 * GIB, available=12 * GIB, swap=2 * GIB, swap_used=0, **more):
    values = {"MemTotal": total, "MemFree": 3 * GIB, "MemAvailable": available, "Buffers": GIB // 8, "Cached": 8 * GIB,
              "SwapCached": 0, "Active": 6 * GIB, "Inactive": 5 * GIB, "SwapTotal": swap, "SwapFree": swap - swap_used,
              "Dirty": MIB, "AnonPages": 2 * GIB, "Shmem": GIB // 4, "Slab": GIB // 2, "SReclaimable": GIB // 4,
              "KernelStack": 8 * MIB, "PageTables": 16 * MIB, "CommitLimit": 10 * GIB, "Committed_AS": 4 * GIB, **more}
    return "".join(f"{name}: {value // 1024:>14} kB\n" for name, value in values.items())


def vmstat(**more):
    values = {"pgpgin": 1000, "pgpgout": 2000, "pswpin": 0, "pswpout": 0, "pgfree": 5000, "pgfault": 100000, "pgmajfault": 50,
              "pgsteal_kswapd": 0, "pgsteal_direct": 0, "pgscan_kswapd": 0, "pgscan_direct": 0, "pgscan_direct_throttle": 0,
              "pgsteal_anon": 0, "pgsteal_file": 0, "allocstall_normal": 0, "allocstall_movable": 0, "oom_kill": 0, **more}
    return "".join(f"{name} {value}\n" for name, value in values.items())


def pressure(some=0.0, full=0.0):
    return (f"some avg10={some:.2f} avg60={some / 2:.2f} avg300=0.00 total=1000\n"
            f"full avg10={full:.2f} avg60={full / 2:.2f} avg300=0.00 total=500\n")


def process(pid, name="server", rss=200 * MIB, swapped=0, minor=1000, major=0, start=777, **more):
    """The files of a process: {path: text}"""
    status = {"Name": name, "State": "S (sleeping)", "Uid": "1000\t1000\t1000\t1000",
              "VmSize": f"{4 * rss >> 10} kB", "VmHWM": f"{rss >> 10} kB", "VmRSS": f"{rss >> 10} kB",
              "RssAnon": f"{rss - 4 * MIB >> 10} kB", "RssFile": f"{4 * MIB >> 10} kB", "RssShmem": "0 kB",
              "VmData": f"{2 * rss >> 10} kB", "VmSwap": f"{swapped >> 10} kB", "Threads": "3", **more}
    fields = [pid, f"({name})", "S", 1, pid, pid, 0, -1, 4194560, minor, 0, major, 0, 5, 6, 7, 8, 20, 0, 3, 0, start, 4 * rss, rss // 4096]
    return {f"/proc/{pid}/status": "".join(f"{key}:\t{value}\n" for key, value in status.items()),
            f"/proc/{pid}/stat": " ".join(map(str, fields)) + " 18446744073709551615 1 1\n",
            f"/proc/{pid}/oom_score": "668\n", f"/proc/{pid}/oom_score_adj": "0\n",
            f"/proc/{pid}/limits": "Limit  Soft Limit  Hard Limit  Units\n"
                                   "Max data size             unlimited            unlimited            bytes\n"
                                   "Max address space         unlimited            unlimited            bytes\n",
            f"/proc/{pid}/smaps_rollup": f"Rss: {rss >> 10} kB\nPss: {rss - 3 * MIB >> 10} kB\n"}


def v2_cgroup(folder, current, limit="max", **more):
    """The files of a cgroup; events and stat as dictionaries."""
    events = {"low": 0, "high": 0, "max": 0, "oom": 0, "oom_kill": 0, **more.get("events", {})}
    stat = {"anon": current, "file": 0, "inactive_file": 0, **more.get("stat", {})}
    return {f"{folder}/memory.current": f"{current}\n", f"{folder}/memory.max": f"{limit}\n", f"{folder}/memory.high": "max\n",
            f"{folder}/memory.peak": f"{current}\n", f"{folder}/memory.swap.current": "0\n", f"{folder}/memory.swap.max": "max\n",
            f"{folder}/memory.events": "".join(f"{key} {value}\n" for key, value in events.items()),
            f"{folder}/memory.stat": "".join(f"{key} {value}\n" for key, value in stat.items()),
            f"{folder}/memory.pressure": pressure()}


def v1_cgroup(folder, usage, limit=9223372036854771712, failcnt=0, oom_kill=0, inactive=0):
    return {f"{folder}/memory.usage_in_bytes": f"{usage}\n", f"{folder}/memory.limit_in_bytes": f"{limit}\n",
            f"{folder}/memory.max_usage_in_bytes": f"{usage}\n", f"{folder}/memory.failcnt": f"{failcnt}\n",
            f"{folder}/memory.oom_control": f"oom_kill_disable 0\nunder_oom 0\noom_kill {oom_kill}\n",
            f"{folder}/memory.stat": f"cache 0\ntotal_cache 0\ntotal_rss {usage}\ntotal_swap 0\ntotal_inactive_file {inactive}\n"}


def machine(*changes):
    """A healthy one, with the files given by their paths instead: {path: text, or an errno, or None for no file}."""
    files = {"/proc/sys/kernel/hostname": "made-up\n", "/proc/uptime": "5000.50 9000.00\n", "/proc/meminfo": meminfo(),
             "/proc/vmstat": vmstat(), "/proc/pressure/memory": pressure(), "/proc/sys/vm/overcommit_memory": "0\n",
             "/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": V2_MOUNT, "/dev/kmsg": "",
             **process(100, "server"), **process(200, "helper", rss=20 * MIB)}
    for change in changes:
        files.update(change)
    return {path: text for path, text in files.items() if text is not None}


def write_tree(root, files):
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def write_recording(path, looks, seconds=1.0, subject=None):
    lines = ["memtape triage 1", "page 4096"] + ([f"subject {subject}"] if subject else [])
    for number, files in enumerate(looks):
        lines.append(f"look {1700000000 * 10**9 + int(number * seconds * 1e9)} {10**9 + int(number * seconds * 1e9)}")
        lines.append("processes 2")
        for name, text in files.items():
            if isinstance(text, int):
                lines.append(f"error {text} {name}")
            else:
                lines += [f"file {name}", *("\t" + line for line in text.splitlines())]
    path.write_text("\n".join(lines) + "\n")
    return path
