import { expect, test } from "vitest";
import { documentation } from "../src/documentation";
import {
  bodyText,
  bytesText,
  countText,
  elapsedText,
  flopsText,
  measuredTexts,
  opaqueType,
  paramText,
  shortDtype,
  shorten,
  typeText,
} from "../src/text";

test.each([
  ["float32", "f32"],
  ["bfloat16", "bf16"],
  ["float8_e4m3fn", "f8_e4m3fn"],
  ["uint8", "u8"],
  ["complex64", "c64"],
  ["bool", "bool"],
  ["key<fry>", "key<fry>"],
])("dtype %s is written %s", (long, short) => {
  expect(shortDtype(long)).toBe(short);
});

test("types are written as in a jaxpr", () => {
  expect(typeText({ dtype: "float32", shape: [2, 16, 64] })).toBe("f32[2,16,64]");
  expect(typeText({ dtype: "float32", shape: [], weakType: true })).toBe("f32[]*");
});

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1.00K"],
  [65536, "65.5K"],
  [999_600, "1.00M"],
  [124_439_808, "124M"],
  [6_738_415_616, "6.74G"],
])("count %d is written %s", (count, text) => {
  expect(countText(count)).toBe(text);
});

test("sizes and costs have their units", () => {
  expect(bytesText(512)).toBe("512 B");
  expect(bytesText(1024 * 1024)).toBe("1.0 MiB");
  expect(flopsText(64)).toBe("64 FLOPs");
  expect(flopsText(20_438_406)).toBe("20.4 MFLOPs");
  expect(elapsedText(125_000)).toBe("2 min 5 s");
});

test("parameters of primitives are readable data, opaque ones name their type", () => {
  expect(
    paramText([
      [[1], [0]],
      [[], []],
    ]),
  ).toBe("(((1,), (0,)), ((), ()))");
  expect(paramText(null)).toBe("None");
  expect(paramText({ opaque: "builtins.function" })).toBe("‹builtins.function›");
  expect(opaqueType({ opaque: "a", b: 1 })).toBeUndefined();
});

test("names are cut in the middle", () => {
  expect(shorten("params/layers_0/attention/query/kernel", 20)).toBe("params/lay…ry/kernel");
  expect(shorten("short", 20)).toBe("short");
});

test("documentation is linked where there is a page", () => {
  const address = (primitive: string) => documentation(primitive)?.address;
  expect(address("dot_general")).toBe("https://docs.jax.dev/en/latest/_autosummary/jax.lax.dot_general.html");
  expect(address("scatter-add")).toContain("jax.lax.scatter_add.html");
  expect(address("and")).toContain("jax.lax.bitwise_and.html");
  expect(address("my_primitive")).toBeUndefined();
  const torch = "https://docs.pytorch.org/docs/stable/generated/";
  expect(address("torch.nn.functional.linear")).toBe(`${torch}torch.nn.functional.linear.html`);
  expect(address("torch.cat")).toBe(`${torch}torch.cat.html`);
  expect(address("torch.Tensor.add_")).toBe(`${torch}torch.Tensor.add_.html`);
  expect(address("torch.Tensor.__pow__")).toBe(`${torch}torch.Tensor.pow.html`);
  expect(address("torch.Tensor.relu")).toBe(`${torch}torch.nn.functional.relu.html`);
  for (const without of ["aten.add", "torch.Tensor.__getitem__", "torch.add_", "torch.nn.functional.add"])
    expect(address(without)).toBeUndefined();
});

test("what was measured of a value is told in lines", () => {
  expect(measuredTexts({ shape: [2], dtype: "float32" })).toEqual([]);
  const statistics = { elements: 2, zeros: 1, nan: 0, infinite: 0, min: 0, max: 1, mean: 0.5, std: 0.5 };
  expect(measuredTexts({ shape: [2], dtype: "float32", bytes: 8, storage: 3, statistics })).toEqual([
    "8 B",
    "memory 3",
    "min 0 · max 1 · mean 0.5 · std 0.5",
    "zeros 1 · NaN 0 · infinite 0 of 2 elements",
  ]);
});

test("a body of PyTorch ran, of others nothing says so", () => {
  expect(bodyText("aten").ran).toBe("as it ran");
  expect(["body", "branch 0", "cond_jaxpr"].map((role) => bodyText(role).what)).toEqual([
    "one iteration",
    "one branch",
    "the condition",
  ]);
  expect(bodyText("body").ran).toBe("not reported as executed");
});
