// What the theme leaves out for those who use a keyboard or a screen reader.
document.querySelectorAll(".highlight pre, .table-wrapper").forEach((box) => {
  box.tabIndex = 0; // a box that scrolls can have the focus
});
document.querySelectorAll("p.caption[role=heading]").forEach((caption) => {
  caption.setAttribute("aria-level", "2");
});
for (const [drawer, label] of [["sidebar", "Pages"], ["toc", "Contents of this page"]]) {
  document.querySelector(`aside.${drawer}-drawer`)?.setAttribute("aria-label", label);
}
