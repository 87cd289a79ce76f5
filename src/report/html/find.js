"use strict";
// Finds calls of the plan that is shown, by what they are called and what they work on.
Object.assign(hallway.Timeline.prototype, {
  listenToFind() {
    this.field = this.root.querySelector("input[type=search]");
    this.said = this.root.querySelector(".find output");
    this.field.addEventListener("input", () => this.seek());
    this.field.addEventListener("keydown", event => {
      if (event.key === "Enter") { event.preventDefault(); this.goOn(event.shiftKey ? -1 : 1); }
      if (event.key === "Escape") { this.field.value = ""; this.seek(); }
    });
  },

  // What each call can be found by.
  texts() {
    const { data } = this;
    data.texts = data.texts || data.calls[0].map((name, call) => [
      data.words[name], data.words[data.calls[1][call]], data.streams[data.calls[2][call]] || "",
    ].join(" ").toLowerCase());
    return data.texts;
  },

  // Marks all that the words in the field are said of; a number is a call's.
  seek() {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = null;
    this.nth = -1;
    if (words.length && this.data) {
      const number = words.length === 1 && /^#?\d+$/.test(words[0]) ? Number(words[0].replace("#", "")) : null;
      const texts = this.texts();
      const fits = texts.map((text, call) => number === null
        ? words.every(word => text.includes(word)) : call + 1 === number);
      this.found = [];
      for (const panel of this.panels) {
        panel.found = new Uint8Array(panel.spans.count);
        for (let span = 0; span < panel.spans.count; span++) {
          if (!fits[panel.spans.call[span]]) continue;
          panel.found[span] = 1;
          this.found.push({ panel, span });
        }
      }
      const order = new Map(this.panels.map((panel, place) => [panel, place]));
      this.found.sort((one, other) => order.get(one.panel) - order.get(other.panel)
        || one.panel.spans.start[one.span] - other.panel.spans.start[other.span] || one.span - other.span);
    }
    this.say();
    this.sketched = null;
    this.draw();
  },

  say() {
    const { found, nth: at } = this;
    const all = found ? found.length : 0;
    this.said.textContent = !found ? "" : !all ? "nothing found" : at < 0 ? `${all} found` : `${at + 1} of ${all}`;
    this.root.dataset.found = found ? all : "";
  },

  // Goes to the next thing found, or to the one before: the first from the view's beginning on.
  goOn(by) {
    const { found } = this;
    if (!found || !found.length) return;
    if (this.nth < 0) {
      const first = found.findIndex(({ panel, span }) => panel.spans.start[span] >= this.from);
      this.nth = by > 0 ? Math.max(first, 0) : found.length - 1;
    } else {
      this.nth = (this.nth + by + found.length) % found.length;
    }
    this.go(found[this.nth]);
    this.say();
  },
});
