// Formats every Lua file as `stylua .` does with `stylua.toml`; `--check` writes nothing and fails where one differs.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Config, formatCode, IndentType, LuaVersion, OutputVerification, QuoteStyle } from "@johnnymorganz/stylua";

const settings = Object.fromEntries(
  [...readFileSync("stylua.toml", "utf8").matchAll(/^(\w+) = "?(\w+)"?$/gm)].map(([, key, value]) => [key, value]),
);
const check = process.argv.includes("--check");
let different = 0;
const files = ["lsp", "plugin", "lua", "syntax"].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`),
);
for (const file of files.sort()) {
  if (!file.endsWith(".lua") || file.endsWith("/protocol.lua")) continue; // the latter is generated
  const config = Config.new();
  config.column_width = Number(settings.column_width);
  config.indent_type = IndentType[settings.indent_type];
  config.indent_width = Number(settings.indent_width);
  config.quote_style = QuoteStyle[settings.quote_style];
  config.syntax = LuaVersion.LuaJIT;
  const text = readFileSync(file, "utf8");
  const formatted = formatCode(text, config, undefined, OutputVerification.Full);
  if (formatted === text) continue;
  different += 1;
  console.log(`${file} ${check ? "is not formatted" : "formatted"}`);
  if (!check) writeFileSync(file, formatted);
}
process.exitCode = check && different ? 1 : 0;
