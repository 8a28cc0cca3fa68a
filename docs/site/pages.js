// What the theme leaves out for those who read without a mouse or by ear: wide blocks can be reached and scrolled, captions have a level.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("article pre, .table-wrapper").forEach((wide) => { wide.tabIndex = 0; });
  document.querySelectorAll(".caption[role=heading]").forEach((caption) => caption.setAttribute("aria-level", "2"));
});
