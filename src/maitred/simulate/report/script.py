"""The script of the page: what the pointer is told, and legends that fade. Without it nothing is missing."""

SCRIPT = """
(() => {
  "use strict";
  const tip = document.getElementById("tip");

  const line = ({ text, kind, value }) => {
    const made = document.createElement("div");
    if (kind) {
      const key = document.createElement("i");
      key.className = `key ${kind}`;
      made.append(key);
    }
    const name = document.createElement("span");
    name.textContent = text;
    made.append(name);
    if (value) {
      const amount = document.createElement("b");
      amount.textContent = value;
      made.append(amount);
    }
    return made;
  };

  const show = (event, lines) => {
    tip.replaceChildren(...lines.map(line));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const right = event.clientX + 16;
    const left = right + box.width > innerWidth ? right - 32 - box.width : right;
    const top = Math.min(event.clientY + 16, innerHeight - box.height - 8);
    tip.style.left = `${Math.max(8, Math.min(left, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  };

  const read = (element) => {
    element.told ??= JSON.parse(element.querySelector("script").textContent);
    return element.told;
  };

  let hot = [];
  let cursor = null;
  const clear = () => {
    tip.hidden = true;
    hot.forEach((mark) => mark.classList.remove("hot"));
    hot = [];
    cursor?.setAttribute("d", "");
    cursor = null;
  };

  const along = (event, canvas) => {
    const { x, at, rows } = read(canvas);
    if (!x.length) return;
    const box = canvas.getBoundingClientRect();
    const place = (1000 * (event.clientX - box.left)) / box.width;
    let nearest = 0;
    x.forEach((one, index) => {
      if (Math.abs(one - place) < Math.abs(x[nearest] - place)) nearest = index;
    });
    cursor = canvas.querySelector(".cursor");
    cursor.setAttribute("d", `M${x[nearest]} 0V1000`);
    const told = rows.map(({ name, kind, values }) => ({ text: name, kind, value: values[nearest] }));
    show(event, [{ text: at[nearest] }, ...told.reverse()]);
  };

  const job = (event, mark) => {
    const floor = mark.closest(".floor");
    hot = [...floor.querySelectorAll(`[data-job="${mark.dataset.job}"]`)];
    hot.forEach((one) => one.classList.add("hot"));
    show(event, read(floor)[Number(mark.dataset.job)].map((text) => ({ text })));
  };

  const point = (event) => {
    clear();
    if (!(event.target instanceof Element)) return;
    const marked = event.target.closest("[data-tip]");
    const seat = event.target.closest("[data-job]");
    const canvas = event.target.closest(".canvas");
    if (marked) show(event, marked.dataset.tip.split("\\n").map((text) => ({ text })));
    else if (seat) job(event, seat);
    else if (canvas?.querySelector(".cursor")) along(event, canvas);
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.documentElement.addEventListener("pointerleave", clear);
  document.addEventListener("scroll", clear, { passive: true });

  document.querySelectorAll("[data-fades]").forEach((button) =>
    button.addEventListener("click", () => {
      const isOn = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!isOn));
      button.closest("section").querySelectorAll(`svg .${button.dataset.fades}`)
        .forEach((mark) => mark.classList.toggle("faded", isOn));
    })
  );

  const tellOfMore = () =>
    document.querySelectorAll(".hint").forEach((hint) => {
      const table = hint.nextElementSibling;
      hint.hidden = table.scrollWidth <= table.clientWidth;
    });
  addEventListener("resize", tellOfMore);
  tellOfMore();
})();
"""
