// Reduces forge's output to what Rust reads: for each source file src/NAME.{yul,sol}, which defines
// NAME, one {abi, bytecode, deployedBytecode} in <target>/NAME.json. Usage: slim.mjs <target>
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, parse } from "node:path";

const CODE_MAX_BYTES = 24_576; // EIP-170
const [target] = process.argv.slice(2);
mkdirSync(target, { recursive: true });

for (const file of readdirSync("src").filter((name) => /\.(yul|sol)$/.test(name))) {
  const { name } = parse(file);
  const full = JSON.parse(readFileSync(join("out", file, `${name}.json`), "utf8"));
  const slim = {
    abi: full.abi,
    bytecode: full.bytecode.object,
    deployedBytecode: full.deployedBytecode.object,
  };
  for (const key of ["bytecode", "deployedBytecode"]) {
    if (!/^0x([0-9a-f]{2})+$/.test(slim[key])) {
      throw new Error(`src/${file}: ${key} is "${slim[key]}", not linked code`);
    }
  }
  const codeBytes = (slim.deployedBytecode.length - 2) / 2;
  if (codeBytes > CODE_MAX_BYTES) {
    throw new Error(`src/${file}: ${codeBytes} B of runtime code, the limit is ${CODE_MAX_BYTES} B`);
  }
  writeFileSync(join(target, `${name}.json`), `${JSON.stringify(slim, null, 2)}\n`);
}
