"use strict";
// The whole pass in a strip above the timeline, with a window over the part that is in view.
hallway.ROW = 6;
hallway.GRIP = 7;

// How busy each lane is in each column of pixels: the strip is drawn from these, however many spans
// there are. Of what a search has found, how much of it.
hallway.shares = (panel, lane, end, columns, wanted) => {
  const shares = new Float32Array(columns), scale = columns / end, { spans } = panel;
  for (const span of lane.spans) {
    if (!wanted(span)) continue;
    const from = spans.start[span] * scale, to = spans.end[span] * scale;
    const last = Math.min(columns - 1, Math.floor(to));
    for (let column = Math.floor(from); column <= last; column++) {
      shares[column] += Math.min(to, column + 1) - Math.max(from, column);
    }
  }
  return shares;
};

Object.assign(hallway.Timeline.prototype, {
  // Draws the strip itself once for each plan, width, theme and search.
  sketch() {
    const { overview, gutter, width, palette } = this;
    const rows = this.panels.flatMap(panel => panel.lanes.map(lane => ({ panel, lane })));
    const ratio = window.devicePixelRatio || 1;
    const high = rows.length * (hallway.ROW + 1) + 3;
    overview.width = Math.round(width * ratio);
    overview.height = Math.round(high * ratio);
    overview.style.height = `${high}px`;
    this.overviewHeight = high;
    const drawn = document.createElement("canvas");
    drawn.width = overview.width;
    drawn.height = overview.height;
    const context = drawn.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    rows.forEach(({ panel, lane }, row) => {
      const y = 2 + row * (hallway.ROW + 1);
      context.fillStyle = palette.rule;
      context.globalAlpha = 0.5;
      context.fillRect(gutter, y, width - gutter, hallway.ROW);
      const bars = (wanted, colour, alpha) => {
        const shares = hallway.shares(panel, lane, this.end, Math.max(1, width - gutter), wanted);
        context.fillStyle = colour;
        shares.forEach((share, column) => {
          if (share <= 0) return;
          context.globalAlpha = alpha * Math.max(0.25, Math.min(1, share));
          context.fillRect(gutter + column, y, 1, hallway.ROW);
        });
      };
      const kind = panel.kind(lane.spans[0]);
      bars(span => !panel.waits(span), palette[kind], this.found ? 0.25 : 1);
      if (this.found) bars(span => panel.found[span] === 1, palette.mark, 1);
    });
    this.sketched = drawn;
  },

  paintOverview() {
    const { overview, gutter, width, palette } = this;
    // While a printer lays the page out, there may be no room at all.
    if (width <= gutter) return;
    if (!this.sketched) this.sketch();
    const ratio = window.devicePixelRatio || 1;
    const context = overview.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, overview.width, overview.height);
    context.drawImage(this.sketched, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const high = this.overviewHeight;
    const [left, right] = this.edges();
    context.fillStyle = palette.ground;
    context.globalAlpha = 0.65;
    context.fillRect(gutter, 0, left - gutter, high);
    context.fillRect(right, 0, width - right, high);
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle = palette.ink;
    context.lineWidth = 1;
    context.strokeRect(Math.round(left) + 0.5, 0.5, Math.max(1, Math.round(right - left) - 1), high - 1);
    for (const x of [left, right]) context.fillRect(Math.round(x) - 1, high / 2 - 6, 3, 12);
  },

  // Where the window begins and ends on the strip.
  edges() {
    const scale = (this.width - this.gutter) / this.end;
    return [this.gutter + this.from * scale, this.gutter + this.to * scale];
  },

  listenToOverview() {
    const { overview } = this;
    const place = event => event.clientX - overview.getBoundingClientRect().left;
    const time = x => (x - this.gutter) / (this.width - this.gutter) * this.end;
    const grip = x => {
      const [left, right] = this.edges();
      const [from, to] = [Math.abs(x - left), Math.abs(x - right)];
      if (Math.min(from, to) <= hallway.GRIP) return from < to ? "from" : "to";
      return x > left && x < right ? "window" : "elsewhere";
    };
    overview.addEventListener("pointerdown", event => {
      if (!this.panels) return;
      const x = place(event);
      let what = grip(x);
      // A click beside the window brings it there.
      if (what === "elsewhere") {
        const half = (this.to - this.from) / 2;
        this.look(time(x) - half, time(x) + half);
        what = "window";
      }
      overview.setPointerCapture(event.pointerId);
      this.pulls = { what, off: time(x) - this.from };
    });
    overview.addEventListener("pointermove", event => {
      if (!this.panels) return;
      const x = place(event);
      if (!this.pulls) {
        overview.style.cursor = { from: "ew-resize", to: "ew-resize", window: "grab" }[grip(x)] || "pointer";
        return;
      }
      const at = Math.min(Math.max(time(x), 0), this.end), { what, off } = this.pulls;
      if (what === "from") this.look(Math.min(at, this.to - 20), this.to);
      else if (what === "to") this.look(this.from, Math.max(at, this.from + 20));
      else this.look(time(x) - off, time(x) - off + this.to - this.from);
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      overview.addEventListener(kind, () => { this.pulls = null; });
    }
    overview.addEventListener("dblclick", () => this.look(0, this.end));
  },
});
