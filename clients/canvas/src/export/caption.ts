// What a picture says of its graph: without the page around it, nothing else would.
import { coverageText } from "../panels/badges";
import type * as p from "../protocol";
import type { BodyStep } from "../state";
import { bodyText } from "../text";

export interface Caption {
  /** The target, and the subprogram where the picture is of one. */
  title: string;
  /** Where it is from, and what is known of it. */
  lines: string[];
}

/** `saved`: of an exported page, which does not know whether the code is still what was traced. */
export function captionOf(capture: p.CaptureInfo, bodies: readonly BodyStep[], saved: boolean): Caption {
  const body = bodies.at(-1);
  const versions = Object.entries(capture.versions).map(([library, version]) => `${library} ${version}`);
  const origin = [capture.kind, fileOf(capture.uri), capture.profile && `profile ${capture.profile}`, ...versions];
  const known = [
    capture.evidence,
    `coverage ${coverageText(capture.coverage)}`,
    body && bodyText(body.role).ran,
    saved ? "from a saved file" : `${capture.freshness} when exported`,
  ];
  return {
    title: [capture.name, ...bodies.map(({ label }) => label)].join(" › "),
    lines: [origin, known].map((parts) => parts.filter(Boolean).join(" · ")),
  };
}

/** The file's name alone: a picture says nothing of the machine that it was made on. */
function fileOf(uri: string | undefined): string {
  return decodeURIComponent(uri?.split("/").at(-1) ?? "");
}
