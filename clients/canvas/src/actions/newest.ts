/** Requests of which only the newest of a kind counts: beginning one ends the one before. */
export interface Newest<Kind extends string> {
  begin(kind: Kind): AbortController;
  end(kind: Kind): void;
  /** Whether nothing newer of its kind was begun. */
  is(kind: Kind, control: AbortController): boolean;
}

export function newest<Kind extends string>(): Newest<Kind> {
  const running = new Map<Kind, AbortController>();
  return {
    begin(kind) {
      running.get(kind)?.abort();
      const control = new AbortController();
      running.set(kind, control);
      return control;
    },
    end: (kind) => running.get(kind)?.abort(),
    is: (kind, control) => running.get(kind) === control,
  };
}
