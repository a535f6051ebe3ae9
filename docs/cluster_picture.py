"""Draw the task graph of one pass over partitions, for the page on clusters."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#666666"
PARTS, FAN = 6, 3
figure, axes = plt.subplots(figsize=(9.5, 4.6), layout="constrained")


def box(x, y, text, colour):
    axes.add_patch(
        FancyBboxPatch((x - 0.38, y - 0.17), 0.76, 0.34, boxstyle="round,pad=0.02", facecolor=colour, alpha=0.18)
    )
    axes.text(x, y, text, ha="center", va="center", fontsize=8.5)


def arrow(start, end, colour=GREY):
    options = {"arrowstyle": "-|>", "mutation_scale": 9, "color": colour, "linewidth": 0.9}
    axes.add_patch(FancyArrowPatch((start[0], start[1] + 0.2), (end[0], end[1] - 0.2), **options))


for i in range(PARTS):
    frame = {"boxstyle": "round,pad=0.04", "facecolor": "none", "edgecolor": GREY, "linewidth": 0.9}
    axes.add_patch(FancyBboxPatch((i - 0.42, -0.25), 0.84, 2.5, **frame))
    box(i, 0, f"rows of\npartition {i}", BLUE)
    box(i, 1, "check", BLUE)
    box(i, 2, "$\\sum k_i k_i^\\top$", ORANGE)
    arrow((i, 0), (i, 1))
    arrow((i, 1), (i, 2))
    arrow((i, 2.1), (FAN * (i // FAN) + 1, 3), ORANGE)
axes.text(
    2.5, -0.62, "each frame is one task, on whatever worker is free: its rows never leave it", ha="center", fontsize=9
)
for j in range(PARTS // FAN):
    box(FAN * j + 1, 3, "+", ORANGE)
    arrow((FAN * j + 1, 3), (2.5, 4), ORANGE)
box(2.5, 4, "+", ORANGE)
box(6.4, 4, "client:\nsolve $m \\times m$", GREEN)
box(6.4, 1, "client:\n$m$ centres", GREEN)
axes.add_patch(FancyArrowPatch((2.95, 4), (5.95, 4), arrowstyle="-|>", mutation_scale=10, color=GREEN))
axes.text(4.45, 4.12, "$m^2$ numbers", ha="center", fontsize=8.5, color=GREEN)
for i in range(PARTS):
    options = {"arrowstyle": "-|>", "mutation_scale": 7, "color": GREEN, "linestyle": ":", "linewidth": 0.8}
    axes.add_patch(FancyArrowPatch((6.0, 1.15), (i + 0.33, 1.84), **options))
axes.set_xlim(-0.6, 7.0)
axes.set_ylim(-0.75, 4.4)
axes.set_axis_off()
figure.savefig(Path(__file__).parent / "_static" / "cluster.png", dpi=110)
