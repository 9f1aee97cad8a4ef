"""Plots cost against size: how long a round takes, the server's processor time for it, and its memory.

Writes SVG files, and the first plot as a small PNG, which RESULTS.md shows.
"""

from plan import SIZES

# Names in the keys, labels in the legend, and whether the subject's messages carry 8 slots.
CURVES = (("muster", "Muster", 8), ("floor", "floor: gRPC with empty handlers", 8),
          ("agents", "Muster, real agents", 1), ("c10d", "PyTorch c10d rendezvous", 1),
          ("tcpstore", "PyTorch TCPStore barrier", 1), ("etcd", "etcd", 1),
          ("torchft", "torchft lighthouse", 1), ("mindspore", "MindSpore's scheduler", 1))


PICTURE = "form_seconds.png"  # under 60 KB
PLOTS = (("form_seconds.svg", "seconds", "a round of N agents: seconds"),
         ("form_server_cpu.svg", "server_cpu_seconds", "a round of N agents: server CPU, seconds"),
         ("server_memory.svg", "server_rss_mb", "the server's peak memory, MB"),
         (PICTURE, "seconds", "a round of N agents: seconds"))


def draw(results, folder):
    """Returns the plots' file names; none without matplotlib."""
    try:
        import matplotlib
        matplotlib.use("agg")
        from matplotlib import pyplot
    except ImportError:
        return []
    matplotlib.rcParams["svg.hashsalt"] = "muster"  # the same figures give the same file
    return [name for name, field, title in PLOTS if _draw_one(pyplot, results, folder / name, field, title)]


def _draw_one(pyplot, results, path, field, title):
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for security, style in (("plain", "-o"), ("mtls", "--s")):
        for subject, label, slots in CURVES:
            points = [(agents, results.median("form/%s/%s/%dx%d" % (subject, security, agents, slots), field))
                      for agents in SIZES]
            points = [(agents, value) for agents, value in points if value]
            if points:
                axes.plot(*zip(*points), style, markersize=4, label=label + (", mTLS" if security == "mtls" else ""))
    has_any = bool(axes.lines)
    if has_any:
        axes.set(xscale="log", yscale="log", xlabel="agents", title=title)
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
        figure.savefig(path, dpi=72, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    return has_any
