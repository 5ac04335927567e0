// Entry of the page that the daemon serves.
import { pageId, WebSocketHost } from "./host/websocket";

const app = document.getElementById("app");
const host = new WebSocketHost();

async function attach(): Promise<void> {
  const state = await host.request("tvls/canvas/attach", { page: pageId() });
  if (app) app.textContent = state.capture?.name ?? state.error?.message ?? "";
}

host.onStatus((status) => {
  if (status === "connected") void attach();
  else if (app) app.textContent = host.reason;
});
