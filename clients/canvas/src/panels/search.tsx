import type { Actions } from "../actions/actions";
import type { State } from "../state";

const JAX = "dot_general · layers_0/attn · [*, 64] · model.py:12 · kernel";
const TORCH = "linear · layers.0.attn · [*, 64] · model.py:12 · weight";

export function SearchBox({ state, actions }: { state: State; actions: Actions }) {
  const { query, hits, total, at, running } = state.search;
  const count = !query.trim()
    ? ""
    : running
      ? "…"
      : total === 0
        ? "nothing"
        : at < 0
          ? `${total}`
          : `${at + 1}/${total}`;
  return (
    <search class="search">
      <input
        id="search"
        type="search"
        placeholder="Search   /"
        aria-label="Search: operation, module path, shape, source line or parameter name"
        title={state.capture?.framework === "torch" ? TORCH : JAX}
        autocomplete="off"
        spellcheck={false}
        value={query}
        onInput={(event) => actions.search(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            void actions.walkHits(event.shiftKey ? -1 : 1);
          } else if (event.key === "Escape") {
            event.preventDefault();
            actions.search("");
            document.querySelector<SVGElement>("svg.graph")?.focus();
          }
        }}
      />
      <output class="search-count" for="search">
        {count}
      </output>
      {hits.length > 0 && (
        <>
          <button type="button" aria-label="Previous hit" onClick={() => void actions.walkHits(-1)}>
            ‹
          </button>
          <button type="button" aria-label="Next hit" onClick={() => void actions.walkHits(1)}>
            ›
          </button>
        </>
      )}
    </search>
  );
}
