// Entry of the page that the daemon serves.
const app = document.getElementById("app");
if (app) app.textContent = "TensorViz";
