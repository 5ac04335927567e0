// Stands in for VS Code's native logger, which would take a C++ compiler: writes the same files, at once, and turns none over.
const fs = require("node:fs");
const path = require("node:path");

const LEVELS = ["trace", "debug", "info", "warning", "error", "critical", "off"];

class Logger {
  constructor(file) {
    this.file = file;
    this.level = 2;
    this.formatted = true;
    for (const [level, name] of [...LEVELS.slice(0, 5), "critical"].entries()) {
      this[name === "warning" ? "warn" : name] = (text) => this.write(level, text);
    }
  }

  write(level, text) {
    if (level < this.level) return;
    fs.appendFileSync(this.file, this.formatted ? `${new Date().toISOString()} [${LEVELS[level]}] ${text}\n` : text);
  }

  getLevel() {
    return this.level;
  }

  setLevel(level) {
    this.level = level;
  }

  setPattern() {}

  clearFormatters() {
    this.formatted = false;
  }

  flush() {}

  drop() {}
}

async function createLogger(_name, file) {
  await fs.promises.mkdir(path.dirname(file), { recursive: true });
  return new Logger(file);
}

module.exports = {
  Logger,
  createRotatingLogger: createLogger,
  createAsyncRotatingLogger: createLogger,
  setFlushOn() {},
  setLevel() {},
  version: 0,
};
