"use strict";
(() => {
  const said = document.getElementById("said");
  const say = (words) => {
    said.textContent = "";
    setTimeout(() => { said.textContent = words; }, 50);
  };

  // Commands get a button each.
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.className = "unseen";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  for (const code of document.querySelectorAll(".commands code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy: " + code.textContent);
    button.addEventListener("click", async () => {
      const done = await copied(code.textContent);
      button.textContent = done ? "Copied" : "Not copied";
      say(done ? "Copied" : "Could not be copied; select the command instead");
      button.focus();
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
    code.after(button);
  }

  // Facts are searched by name and value; what matches is unfolded, and folded again when the field is empty.
  const tree = document.getElementById("tree");
  if (tree) {
    const form = document.getElementById("searching");
    const field = document.getElementById("search");
    const matches = document.getElementById("matches");
    const rows = [...tree.querySelectorAll("dl > div")];
    const words = rows.map((row) => row.textContent.toLowerCase());
    const folds = [...tree.querySelectorAll("details")];
    const lists = [...tree.querySelectorAll("dl")];
    let before = null;
    const filter = () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (wanted.length && !before) before = folds.map((fold) => fold.open);
      let found = 0;
      rows.forEach((row, place) => {
        row.hidden = !wanted.every((word) => words[place].includes(word));
        found += row.hidden ? 0 : 1;
      });
      const showing = (part) => part.querySelector("dl > div:not([hidden])") !== null;
      for (const list of lists) list.hidden = wanted.length > 0 && ![...list.children].some((row) => !row.hidden);
      folds.forEach((fold, place) => {
        fold.hidden = wanted.length > 0 && !showing(fold);
        fold.open = wanted.length > 0 ? !fold.hidden : before ? before[place] : fold.open;
      });
      if (!wanted.length) before = null;
      matches.textContent = !wanted.length ? "" : found === 1 ? "1 fact matches" : found + " facts match";
    };
    let waiting = 0;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(filter, 80);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    addEventListener("beforeprint", () => {
      if (!field.value) return;
      field.value = "";
      filter();
    });
  }

  // On paper everything is unfolded.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    closed = [];
  });

  // A link into a fold opens it.
  const unfold = () => {
    let fold = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    for (; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS") fold.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
