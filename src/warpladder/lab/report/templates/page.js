// Folds and unfolds. Without this script everything can still be folded one by one.
(function () {
  "use strict";
  const folds = () => Array.from(document.querySelectorAll("main details"));
  const button = document.getElementById("unfold");
  let unfolded = false;
  button.hidden = false;
  button.addEventListener("click", () => {
    unfolded = !unfolded;
    folds().forEach((one) => { one.open = unfolded; });
    button.textContent = unfolded ? "Fold all source" : "Unfold all source";
  });
  // Paper has nothing to click on.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = folds().filter((one) => !one.open);
    folded.forEach((one) => { one.open = true; });
  });
  window.addEventListener("afterprint", () => {
    folded.forEach((one) => { one.open = false; });
  });
})();
