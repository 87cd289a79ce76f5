"use strict";
// One timeline that is looked at: which plan, which part of it, and what is pointed at.
hallway.Timeline = class {
  constructor(root, plans, reasons) {
    Object.assign(this, { root, plans, reasons, byStream: false });
    this.canvas = root.querySelector("canvas.lanes");
    this.overview = root.querySelector("canvas.overview");
    this.tip = root.querySelector(".tip");
    this.select = root.querySelector("select");
    this.context = this.canvas.getContext("2d");
    this.pointers = new Map();
    this.listen();
    this.listenToOverview();
    this.listenToFind();
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
  }

  async show(rank) {
    const text = this.plans.get(rank);
    if (text === undefined) return false;
    this.select.value = String(rank);
    const asked = this.asked = Symbol(rank);
    const data = await hallway.unpack(text);
    if (this.asked !== asked) return true;
    this.data = data;
    this.views = data.views.map(view => ({ ...view, spans: hallway.spans(view) }));
    this.end = Math.max(1, ...data.views.map(view => view.end));
    this.held = null;
    this.from = 0;
    this.to = this.end;
    this.arrange();
    this.root.dataset.shown = rank;
    return true;
  }

  arrange() {
    this.panels = this.views.map(view => {
      const lanes = hallway.lanes(this.data, view.spans, this.byStream);
      for (const lane of lanes) lane.mixed = this.byStream;
      const panel = { title: view.title, spans: view.spans, knows: view.knows, end: view.end, lanes };
      panel.kind = span => this.kind(panel, span);
      panel.waits = span => panel.kind(span) === "host" && this.data.calls[6][view.spans.call[span]] === 1;
      return panel;
    });
    this.height = hallway.layout(this.panels);
    this.seek();
    this.resize();
  }

  resize() {
    if (!this.panels) return;
    const width = this.canvas.parentElement.clientWidth - 20;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.gutter = width < 560 ? 58 : 96;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.sketched = null;
    // At once: a canvas of a new size is blank, and a printer does not wait for the next frame.
    if (this.from !== undefined) this.paint();
  }

  // Shows a stretch of time, but never less than 20 ns nor more than there is.
  look(from, to) {
    const long = Math.min(Math.max(to - from, 20), this.end);
    const middle = (from + to) / 2;
    from = Math.min(Math.max(middle - long / 2, 0), this.end - long);
    this.from = from;
    this.to = from + long;
    this.draw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.look(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  move(share) {
    const step = (this.to - this.from) * share;
    const from = Math.min(Math.max(this.from + step, 0), this.end - (this.to - this.from));
    this.look(from, from + this.to - this.from);
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    // The pointer may move over the canvas before its data is unpacked.
    if (!this.panels) return;
    this.palette = this.palette || hallway.palette(this.root);
    this.view = {
      width: this.width, height: this.height, gutter: this.gutter, palette: this.palette,
      from: this.from, to: this.to, panels: this.panels, held: this.held, cause: this.causeOf(this.held),
      seeks: Boolean(this.found), drawn: 0, merged: 0,
      label: (panel, span) => this.label(panel, span),
    };
    const held = this.held;
    this.view.knowsIssue = held && held.panel.spans.why[held.span] === 1;
    hallway.paint(this.context, this.view);
    this.paintOverview();
    this.listSpans();
    // What a test looks at: what is shown, and in which frame.
    const { dataset } = this.root;
    dataset.from = Math.round(this.from);
    dataset.to = Math.round(this.to);
    dataset.drawn = this.view.drawn;
    dataset.frames = 1 + Number(dataset.frames || 0);
  }

  repaint() {
    this.palette = null;
    this.sketched = null;
    if (this.panels) this.resize();
  }

  kind(panel, span) {
    return this.data.rows[panel.spans.row[span]].kind;
  }

  // What a call does, short.
  label(panel, span) {
    const call = panel.spans.call[span];
    const what = this.data.words[this.data.calls[1][call]];
    const name = this.data.words[this.data.calls[0][call]];
    if (this.kind(panel, span) === "host") return name.replace(/^cuda/, "");
    // Beside its row, a copy is told by what it brings.
    return what.replace(/^(H2D|D2H) /, "").replace(/^(gpu\d*:)/, "").replace(/ to .*$/, "") || name;
  }

  // The span that another waited for: the call on the host or the operation on the device.
  causeOf(mark) {
    if (!mark) return null;
    const { panel, span } = mark;
    const why = panel.spans.why[span];
    if (!why) return null;
    const wanted = panel.spans.after[span];
    const index = panel.byCall = panel.byCall || this.index(panel);
    const [host, device] = index.get(wanted) || [-1, -1];
    const found = why === 1 || why === 6 ? host : device >= 0 ? device : host;
    return found >= 0 && found !== span ? { panel, span: found } : null;
  }

  index(panel) {
    const index = new Map();
    for (let span = 0; span < panel.spans.count; span++) {
      const call = panel.spans.call[span];
      if (!index.has(call)) index.set(call, [-1, -1]);
      index.get(call)[this.kind(panel, span) === "host" ? 0 : 1] = span;
    }
    return index;
  }

  why({ panel, span }) {
    if (!panel.knows) return "measured: causes are not recorded";
    const why = panel.spans.why[span];
    const reason = this.reasons[why];
    return why ? `${reason} call ${panel.spans.after[span] + 1}${this.named(panel.spans.after[span])}` : reason;
  }

  named(call) {
    const name = this.data.words[this.data.calls[0][call]];
    const what = this.data.words[this.data.calls[1][call]];
    return ` (${[name, what].filter(Boolean).join(" ")})`;
  }

  // What the tooltip says, as pairs of a name and a value.
  facts({ panel, span }) {
    const call = panel.spans.call[span];
    const [, , stream, bytes, offset, elements] = this.data.calls.map(column => column[call]);
    const took = panel.spans.end[span] - panel.spans.start[span];
    const facts = [["call", `${call + 1}${this.named(call)}`]];
    if (stream >= 0) facts.push(["stream", this.data.streams[stream]]);
    if (bytes >= 0) {
      const rate = this.kind(panel, span) !== "host" && took > 0 ? `, ${(bytes / took).toFixed(1)} GB/s` : "";
      const from = offset > 0 ? ` from ${hallway.bytes(offset)} on` : "";
      facts.push(["bytes", `${hallway.bytes(bytes)}${from}${rate}`]);
    }
    if (elements >= 0) facts.push(["elements", elements.toLocaleString("en")]);
    facts.push(["starts at", hallway.time(panel.spans.start[span])]);
    facts.push(["takes", hallway.time(took)]);
    facts.push(["not sooner", this.why({ panel, span })]);
    return facts;
  }

  // The span under a point, the nearest one within some pixels.
  at(x, y) {
    for (const panel of this.panels || []) {
      for (const lane of panel.lanes) {
        const number = Math.floor((y - lane.top) / lane.line);
        if (y < lane.top || number >= lane.lines.length || x < this.gutter) continue;
        const scale = (this.to - this.from) / (this.width - this.gutter);
        const time = this.from + (x - this.gutter) * scale;
        const { spans } = panel;
        const line = lane.lines[number];
        const first = hallway.search(line.spans.length, at => line.reached[at] >= time - 3 * scale);
        let best = null, nearest = 3 * scale;
        for (let at = first; at < line.spans.length; at++) {
          const span = line.spans[at];
          if (spans.start[span] > time + nearest) break;
          const off = Math.max(spans.start[span] - time, time - spans.end[span], 0);
          if (off < nearest || best === null) [best, nearest] = [span, Math.min(off, nearest)];
          if (off === 0) break;
        }
        return best === null ? null : { panel, span: best };
      }
    }
    return null;
  }

  hold(mark, point) {
    const same = mark && this.held && mark.span === this.held.span && mark.panel === this.held.panel;
    this.held = mark;
    if (!same) this.draw();
    this.tip.hidden = !mark;
    if (!mark) return;
    if (!same) {
      const list = document.createElement("dl");
      for (const [name, value] of this.facts(mark)) {
        const [term, text] = [document.createElement("dt"), document.createElement("dd")];
        term.textContent = name;
        text.textContent = value;
        list.append(term, text);
      }
      this.tip.replaceChildren(list);
    }
    const [x, y] = point || this.pointOf(mark);
    const { offsetWidth, offsetHeight } = this.tip;
    const left = Math.min(Math.max(x + 14, 0), Math.max(0, this.width - offsetWidth));
    const above = y + 18 + offsetHeight > this.height + 60 && y > offsetHeight + 12;
    this.tip.style.left = `${left + 10}px`;
    // Where no pointer shows the place, the tip is clear of all rows: below them, if that is in view.
    const isClear = !point && this.canvas.getBoundingClientRect().bottom + offsetHeight + 4 < innerHeight;
    const below = this.canvas.offsetTop + this.height + 4;
    this.tip.style.top = `${isClear ? below : above ? y - offsetHeight - 12 : y + 18}px`;
  }

  pointOf(mark) {
    const [x, y, wide, high] = hallway.placeOf(this.view, mark) || [this.gutter, 0, 0, 0];
    return [Math.min(Math.max(x + Math.min(wide, 40) / 2, this.gutter), this.width), y + high / 2];
  }

  // Goes to a span: moves the view if it is out of it.
  go(mark) {
    if (!mark) return;
    const start = mark.panel.spans.start[mark.span], end = mark.panel.spans.end[mark.span];
    if (start < this.from || end > this.to) {
      const long = Math.max(this.to - this.from, (end - start) * 1.2);
      this.look((start + end - long) / 2, (start + end + long) / 2);
      this.view.from = this.from;
      this.view.to = this.to;
    }
    this.hold(mark);
  }

  // Zooms to what is pointed at.
  fit() {
    if (!this.held) return;
    const { panel, span } = this.held;
    const [start, end] = [panel.spans.start[span], panel.spans.end[span]];
    const room = Math.max(end - start, 20);
    this.look(start - room / 2, end + room / 2);
  }

  // The next span of the row in order of time, or the one before.
  step(by) {
    if (!this.held) return this.go(this.firstInView());
    const { panel, span } = this.held;
    const next = span + by;
    const { row } = panel.spans;
    if (next >= 0 && next < panel.spans.count && row[next] === row[span]) this.go({ panel, span: next });
  }

  firstInView() {
    const panel = this.panels[0];
    for (let span = 0; span < panel.spans.count; span++) {
      if (panel.spans.end[span] > this.from && panel.spans.start[span] < this.to) return { panel, span };
    }
    return null;
  }
};
