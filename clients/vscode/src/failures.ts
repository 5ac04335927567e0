// One message for a failure, with what can be done about it.
import type { OpenParams } from "../../canvas/src/protocol";
import type { ServerError } from "./connection";

export type Remedy =
  | "editSetup"
  | "selectInterpreter"
  | "install"
  | "showLog"
  | "showSource"
  | "saveAll"
  | "manageTrust"
  | "limits"
  | "again";

export const TITLES: Readonly<Record<Remedy, string>> = {
  editSetup: "Edit Setup",
  selectInterpreter: "Select Interpreter",
  install: "Show What Would Be Installed",
  showLog: "Show Log",
  showSource: "Show Source",
  saveAll: "Save All and Open",
  manageTrust: "Manage Workspace Trust",
  limits: "Open Settings",
  again: "Try Again",
};

export interface Report {
  message: string;
  remedies: Remedy[];
}

/** Undefined where the panel itself asks for what is missing. */
export function reportOf(params: OpenParams, error: ServerError): Report | undefined {
  const { data } = error;
  const name = params.target?.name ?? params.profile ?? "The model";
  const said = (remedies: Remedy[], next = true): Report => ({
    message: [firstLine(error.message), next ? data?.nextStep : ""].filter(Boolean).join(" "),
    remedies,
  });
  switch (data?.kind) {
    case "setupRequired":
    case "setupInvalid":
      return undefined; // the panel shows the form
    case "notTrusted":
      return said(["manageTrust"]);
    case "unsavedSource":
      return said(["saveAll"]);
    case "environmentInvalid":
      return said(data.requirements?.length ? ["install", "selectInterpreter"] : ["selectInterpreter", "showLog"]);
    case "deviceUnavailable":
      return said(["editSetup", "selectInterpreter"]);
    case "traceFailed":
      return {
        message: `${name} could not be traced. ${firstLine(data.exception ?? error.message)}`,
        remedies: data.frames?.some((frame) => frame.location) ? ["showSource", "showLog"] : ["showLog"],
      };
    case "traceTimeout":
    case "limitExceeded":
      return said(["limits", "again"]);
    case "workerCrashed":
      return said(["again", "showLog"]);
    default:
      return said(["again", "showLog"]);
  }
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
