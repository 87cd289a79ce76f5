"use strict";
// Draws the part of a timeline that is in view. What is narrower than a pixel is merged: the work
// grows with the pixels, not with the spans.
hallway.LANE = 30;
hallway.LINE = 15;
hallway.HEAD = 26;
hallway.AXIS = 24;

// Colours come from the style sheet, so that the theme decides; patterns tell kinds apart in grey.
hallway.palette = root => {
  const probe = document.createElement("i");
  root.appendChild(probe);
  const colour = name => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const palette = {};
  for (const name of ["ink", "soft", "rule", "ground", "host", "h2d", "kernels", "d2h", "p2p", "on-dark", "on-light", "mark"]) {
    palette[name] = colour(name);
  }
  probe.remove();
  return palette;
};

hallway.pattern = (context, palette, kind) => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const draw = tile.getContext("2d");
  draw.fillStyle = palette[kind];
  draw.fillRect(0, 0, 8, 8);
  draw.strokeStyle = draw.fillStyle = palette.ground;
  draw.globalAlpha = 0.4;
  if (kind === "kernels") {
    draw.lineWidth = 1.5;
    draw.beginPath();
    for (const from of [-8, 0, 8]) { draw.moveTo(from, 8); draw.lineTo(from + 8, 0); }
    draw.stroke();
  } else if (kind === "d2h") {
    draw.fillRect(1, 1, 2, 2);
    draw.fillRect(5, 5, 2, 2);
  } else if (kind === "p2p") {
    draw.fillRect(0, 3, 8, 2);
  } else {
    return palette[kind];
  }
  return context.createPattern(tile, "repeat");
};

// Where the panels and lanes lie, and how high all of it is.
hallway.layout = panels => {
  let top = 0;
  for (const panel of panels) {
    panel.top = top;
    top += hallway.HEAD;
    for (const lane of panel.lanes) {
      lane.top = top;
      lane.line = lane.lines.length > 1 ? hallway.LINE : hallway.LANE - 8;
      top += lane.line * lane.lines.length + 8;
    }
    top += 8;
  }
  return top + hallway.AXIS;
};

hallway.paint = (context, view) => {
  const { width, height, gutter, palette } = view;
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  hallway.paintAxis(context, view);
  view.fills = {};
  for (const kind of ["host", "h2d", "kernels", "d2h", "p2p"]) {
    view.fills[kind] = hallway.pattern(context, palette, kind);
  }
  for (const panel of view.panels) {
    context.fillStyle = palette.ink;
    context.fillText(hallway.fitted(context, panel.title, width - 8), 0, panel.top + hallway.HEAD / 2);
    for (const lane of panel.lanes) hallway.paintLane(context, view, panel, lane);
  }
  for (const [mark, style] of [[view.cause, "cause"], [view.held, "held"]]) {
    if (mark) hallway.outline(context, view, mark, style);
  }
  if (view.held && view.cause) hallway.arrow(context, view);
};

hallway.paintAxis = (context, { width, height, gutter, from, to, palette }) => {
  const rough = (to - from) / Math.max(2, (width - gutter) / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(one => one >= rough);
  const [scale, unit] = step >= 1e8 ? [1e9, "s"] : step >= 1e5 ? [1e6, "ms"] : step >= 100 ? [1e3, "us"] : [1, "ns"];
  const digits = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  context.strokeStyle = palette.rule;
  context.fillStyle = palette.soft;
  context.lineWidth = 1;
  context.textAlign = "center";
  for (let mark = Math.ceil(from / step); mark * step <= to; mark++) {
    const x = Math.round(gutter + (mark * step - from) / (to - from) * (width - gutter)) + 0.5;
    context.beginPath();
    context.moveTo(x, hallway.HEAD - 4);
    context.lineTo(x, height - hallway.AXIS + 4);
    context.stroke();
    const text = `${(mark * step / scale).toFixed(Math.min(digits, 6))} ${unit}`;
    const half = context.measureText(text).width / 2;
    if (x - half >= 0) context.fillText(text, Math.min(x, width - half - 1), height - hallway.AXIS / 2);
  }
  context.textAlign = "left";
};

hallway.paintLane = (context, view, panel, lane) => {
  const { width, gutter, from, to, palette } = view;
  const scale = (width - gutter) / (to - from);
  context.fillStyle = palette.soft;
  const middle = lane.top + lane.line * lane.lines.length / 2;
  const wide = gutter > 80;
  context.fillText(hallway.fitted(context, lane.name, gutter - (wide ? 40 : 8)), 0, middle);
  if (wide) {
    context.textAlign = "right";
    context.fillText(`${Math.round(100 * lane.busy / Math.max(1, panel.end))}%`, gutter - 8, middle);
    context.textAlign = "left";
  }
  context.save();
  context.beginPath();
  context.rect(gutter, lane.top - 1, width - gutter, lane.line * lane.lines.length + 2);
  context.clip();
  lane.lines.forEach((line, number) => {
    const y = lane.top + number * lane.line;
    const { spans } = panel;
    const last = hallway.search(line.spans.length, at => spans.start[line.spans[at]] >= to);
    let at = hallway.search(last, place => line.reached[place] > from);
    while (at < last) {
      const span = line.spans[at];
      const x = gutter + (spans.start[span] - from) * scale;
      const wide = (spans.end[span] - spans.start[span]) * scale;
      if (wide >= 1.5) {
        hallway.box(context, view, panel, span, [x, y, wide, lane.line - 1]);
        at++;
        continue;
      }
      // All that begins within this pixel is one bar, up to what is wide enough to be drawn itself.
      const pixel = Math.floor(x) + 1;
      const next = hallway.search(last, place => gutter + (spans.start[line.spans[place]] - from) * scale >= pixel, at + 1);
      // It is as high as its share of the pixel, so that a lane looks as busy as it is.
      const until = hallway.until(line, at, next, from + (pixel + 0.5 - gutter) / scale,
        place => (spans.end[line.spans[place]] - spans.start[line.spans[place]]) * scale >= 1.5);
      const share = (line.taken[until] - line.taken[at]) * scale;
      const alone = until === at + 1 && (until === last || (spans.start[line.spans[until]] - spans.start[span]) * scale > 2);
      const high = alone ? lane.line - 1 : Math.max(1, Math.min(1, share) * (lane.line - 1));
      context.fillStyle = palette[panel.kind(span)];
      context.globalAlpha = (panel.waits(span) ? 0.35 : 1) * hallway.weight(view, panel, line.spans, at, until);
      context.fillRect(pixel - 1, y + lane.line - 1 - high, 1, high);
      context.globalAlpha = 1;
      at = until;
      view.merged++;
    }
  });
  context.restore();
};

// Up to which place spans that begin in one pixel are merged. One that ends after `beyond` may be
// wide. Spans of a line do not overlap, but on its last line they may: then all are looked at.
hallway.until = (line, at, next, beyond, isWide) => {
  const overlap = at > 0 && line.reached[at - 1] >= beyond;
  let place = overlap ? at + 1 : hallway.search(next, one => line.reached[one] >= beyond, at + 1);
  while (overlap && place < next && !isWide(place)) place++;
  return place;
};

// What a search has not found is pale.
hallway.weight = (view, panel, spans, at, until) => {
  if (!view.seeks) return 1;
  for (let place = at; place < until; place++) if (panel.found[spans[place]]) return 1;
  return 0.2;
};

hallway.box = (context, view, panel, span, [x, y, wide, high]) => {
  const { width, gutter, palette } = view;
  const left = Math.max(x, gutter - 2), right = Math.min(x + wide, width + 2);
  const kind = panel.kind(span), weight = view.seeks && !panel.found[span] ? 0.2 : 1;
  // A gap of a pixel keeps neighbours apart where there is room for one.
  const shown = Math.max(1, right - left - (wide > 4 ? 1 : 0));
  if (panel.waits(span)) {
    context.strokeStyle = palette.host;
    context.globalAlpha = 0.55 * weight;
    context.strokeRect(left + 0.5, y + 0.5, Math.max(1, shown - 1), high - 1);
  } else {
    context.globalAlpha = weight;
    context.fillStyle = view.fills[kind];
    context.fillRect(left, y, shown, high);
  }
  context.globalAlpha = 1;
  view.drawn++;
  if (shown > 44 && high > 11 && weight === 1) {
    const text = hallway.fitted(context, view.label(panel, span), shown - 10);
    if (text.length < 3) return;
    const waits = panel.waits(span);
    const long = context.measureText(text).width;
    if (!waits) {
      context.fillStyle = palette[kind];
      context.fillRect(left + 3, y + 1, long + 4, high - 2);
    }
    context.fillStyle = waits ? palette.soft : kind === "kernels" || kind === "d2h" ? palette["on-light"] : palette["on-dark"];
    context.fillText(text, left + 5, y + high / 2 + 0.5);
  }
};

// The text, or as much of it as fits, with an ellipsis.
hallway.fitted = (context, text, room) => {
  if (context.measureText(text).width <= room) return text;
  const most = hallway.search(text.length, at => context.measureText(text.slice(0, at + 1) + "\u2026").width > room);
  return most > 0 ? text.slice(0, most) + "\u2026" : "";
};

// The rectangle of a span, if its lane has it.
hallway.placeOf = (view, { panel, span }) => {
  const { width, gutter, from, to } = view;
  const scale = (width - gutter) / (to - from);
  const { spans } = panel;
  for (const lane of panel.lanes) {
    for (let number = 0; number < lane.lines.length; number++) {
      const line = lane.lines[number].spans;
      const at = lane.lines.length > 1 || lane.mixed ? line.indexOf(span)
        : hallway.search(line.length, place => spans.start[line[place]] > spans.start[span]
          || (spans.start[line[place]] === spans.start[span] && line[place] >= span));
      if (line[at] !== span) continue;
      const x = gutter + (spans.start[span] - from) * scale;
      const wide = Math.max(1, (spans.end[span] - spans.start[span]) * scale);
      return [x, lane.top + number * lane.line, wide, lane.line - 1];
    }
  }
  return null;
};

hallway.outline = (context, view, mark, style) => {
  const place = hallway.placeOf(view, mark);
  if (!place) return;
  const [x, y, wide, high] = place;
  const left = Math.max(x, view.gutter - 4), right = Math.min(x + wide, view.width + 4);
  if (right < view.gutter || left > view.width) return;
  context.strokeStyle = style === "held" ? view.palette.ink : view.palette.mark;
  context.lineWidth = 2;
  context.setLineDash(style === "held" ? [] : [4, 3]);
  context.strokeRect(left - 1, y - 1, Math.max(2, right - left) + 1, high + 2);
  context.setLineDash([]);
  context.lineWidth = 1;
};

// From what was waited for to what waited.
hallway.arrow = (context, view) => {
  const [from, to] = [view.cause, view.held].map(mark => hallway.placeOf(view, mark));
  if (!from || !to) return;
  const clamp = x => Math.min(Math.max(x, view.gutter), view.width);
  context.strokeStyle = view.palette.mark;
  context.lineWidth = 1.5;
  context.beginPath();
  const [x0, y0] = [clamp(from[0] + (view.knowsIssue ? 0 : from[2])), from[1] + from[3] / 2];
  const [x1, y1] = [clamp(to[0]), to[1] + to[3] / 2];
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
  context.lineWidth = 1;
};
