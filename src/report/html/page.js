"use strict";
// Events of a timeline, the theme, and the first picture.
hallway.TABLE = 300;

Object.assign(hallway.Timeline.prototype, {
  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
    for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave"]) {
      canvas.addEventListener(kind, event => this[kind](event));
    }
    canvas.addEventListener("dblclick", event => this.zoom(0.4, this.timeAt(event)));
    canvas.addEventListener("keydown", event => this.key(event));
    canvas.addEventListener("blur", () => this.hold(null));
    this.select.addEventListener("change", () => this.show(Number(this.select.value)));
    this.root.addEventListener("click", event => {
      const button = event.target.closest("[data-do]");
      if (button) this.press(button);
    });
    this.root.querySelector("details").addEventListener("toggle", () => this.panels && this.draw());
  },

  press(button) {
    const steps = { before: -1, after: 1 };
    if (steps[button.dataset.do]) return this.goOn(steps[button.dataset.do]);
    const zooms = { in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.look(0, this.end) };
    if (zooms[button.dataset.do]) return zooms[button.dataset.do]();
    this.byStream = !this.byStream;
    button.setAttribute("aria-pressed", String(this.byStream));
    this.hold(null);
    this.arrange();
  },

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  },

  timeAt(event) {
    const [x] = this.point(event);
    return this.from + (x - this.gutter) / (this.width - this.gutter) * (this.to - this.from);
  },

  // A wheel over a timeline that nobody has clicked scrolls the page.
  wheel(event) {
    const zooms = event.ctrlKey || document.activeElement === this.canvas;
    const whole = this.to - this.from >= this.end && event.deltaY > 0;
    if (!zooms || (whole && !event.ctrlKey)) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      return this.move((event.deltaX || event.deltaY) / 1000);
    }
    this.zoom(Math.exp(event.deltaY / 400), this.timeAt(event));
  },

  pointerdown(event) {
    this.pointers.set(event.pointerId, this.point(event));
    this.canvas.setPointerCapture(event.pointerId);
    this.dragged = false;
  },

  pointermove(event) {
    const point = this.point(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hold(this.at(...point), point);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
    const scale = (this.to - this.from) / (this.width - this.gutter);
    this.pointers.set(event.pointerId, point);
    if (others.length) {
      const [was, is] = [before, point].map(one => Math.max(12, Math.abs(one[0] - others[0][0])));
      const middle = (point[0] + others[0][0]) / 2;
      this.zoom(was / is, this.from + (middle - this.gutter) * scale);
    } else if (Math.abs(point[0] - before[0]) > 0) {
      this.dragged = true;
      this.hold(null);
      this.move((before[0] - point[0]) * scale / (this.to - this.from));
    }
  },

  pointerup(event) {
    const point = this.point(event);
    this.pointers.delete(event.pointerId);
    if (!this.dragged) this.hold(this.at(...point), point);
  },

  pointercancel(event) {
    this.pointers.delete(event.pointerId);
  },

  pointerleave(event) {
    if (event.pointerType === "mouse" && !this.pointers.size) this.hold(null);
  },

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      "0": () => this.look(0, this.end),
      ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
      n: () => this.step(1), p: () => this.step(-1),
      c: () => this.go(this.causeOf(this.held)), f: () => this.fit(), Escape: () => this.hold(null),
      "/": () => this.field.focus(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  },

  // The table has what is in view, as far as anybody reads it.
  listSpans() {
    const details = this.root.querySelector("details");
    if (!details.open) return;
    const rows = [];
    for (const panel of this.panels) {
      const which = this.panels.length > 1 ? `${panel.title.split(":")[0]}, ` : "";
      const { spans } = panel;
      for (let span = 0; span < spans.count && rows.length < hallway.TABLE; span++) {
        if (spans.end[span] < this.from || spans.start[span] > this.to) continue;
        rows.push([
          which + this.data.rows[spans.row[span]].name,
          `${spans.call[span] + 1}${this.named(spans.call[span])}`,
          hallway.time(spans.start[span]), hallway.time(spans.end[span] - spans.start[span]),
          this.why({ panel, span }),
        ]);
      }
    }
    details.querySelector("summary").textContent = rows.length < hallway.TABLE
      ? `What is in view, as a table (${rows.length})`
      : `What is in view, as a table (the first ${hallway.TABLE}; zoom in for others)`;
    details.querySelector("tbody").replaceChildren(...rows.map(row => {
      const line = document.createElement("tr");
      row.forEach((text, column) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        if (column === 2 || column === 3) cell.className = "number";
        line.appendChild(cell);
      });
      return line;
    }));
  },
});

// Tables that are wider than their place say so, and can be scrolled with keys.
hallway.watchTables = () => {
  const look = box => {
    const more = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more", more > 1);
    box.classList.toggle("end", box.scrollLeft >= more - 1);
    if (more > 1) box.tabIndex = 0; else box.removeAttribute("tabindex");
  };
  const sizes = new ResizeObserver(entries => entries.forEach(({ target }) => look(target.closest(".scroll"))));
  for (const box of document.querySelectorAll(".scroll")) {
    sizes.observe(box);
    sizes.observe(box.firstElementChild);
    box.addEventListener("scroll", () => look(box), { passive: true });
  }
};

hallway.begin = () => {
  hallway.watchTables();
  const reasons = JSON.parse(document.getElementById("reasons").textContent);
  hallway.timelines = new Map();
  const repaint = () => hallway.timelines.forEach(one => one.repaint());
  for (const root of document.querySelectorAll("div.timeline")) {
    const number = root.dataset.scenario;
    const packed = document.querySelector(`script.timelines[data-scenario="${number}"]`);
    const timeline = new hallway.Timeline(root, new Map(JSON.parse(packed.textContent)), reasons);
    hallway.timelines.set(number, timeline);
    timeline.show(Number(timeline.select.value));
  }
  for (const button of document.querySelectorAll("button.plan")) {
    const timeline = hallway.timelines.get(button.dataset.scenario);
    const rank = Number(button.dataset.plan);
    if (!timeline || !timeline.plans.has(rank)) { button.disabled = true; continue; }
    button.addEventListener("click", () => {
      timeline.show(rank);
      timeline.root.scrollIntoView({ block: "nearest" });
    });
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const { dataset } = document.documentElement;
    const isDark = dataset.theme ? dataset.theme === "dark" : dark.matches;
    dataset.theme = isDark ? "light" : "dark";
    repaint();
  });
  dark.addEventListener("change", repaint);
  // Paper is white.
  matchMedia("print").addEventListener("change", repaint);
  addEventListener("beforeprint", repaint);
};
hallway.begin();
