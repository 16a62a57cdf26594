//! Components made from WebAssembly text: what no compiler of a decent language would make.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

/// Buffered bytes of the view at which a guest shows itself; with any other it is well behaved.
pub const TRIGGER: u64 = 666;
/// `init` that accepts.
pub const ACCEPT: &str = "(i32.store8 (i32.const 192) (i32.const 0)) (i32.const 192)";
/// Waits for 5,000 bytes.
const WAIT: &str = "(i32.store8 (i32.const 256) (i32.const 1)) (i64.store (i32.const 264) (i64.const 5000))
    (i64.store (i32.const 272) (i64.const -1)) (i64.store (i32.const 280) (i64.const -1)) (i64.store (i32.const 288) (i64.const -1))
    (i32.store (i32.const 296) (i32.const -1)) (i32.const 256)";

/// A flush policy, part by part. As it is it waits for 5,000 bytes.
pub struct Guest<'a> {
    /// Version of the contract.
    pub contract: &'a str,
    /// Before `describe` answers.
    pub describe: &'a str,
    /// All of `init`.
    pub init: &'a str,
    /// At the trigger, before `decide` answers.
    pub at_trigger: &'a str,
    /// At every call, before `decide` answers.
    pub decide: &'a str,
    /// After the host has taken the description.
    pub post_describe: &'a str,
    /// After the host has taken a decision.
    pub post_decide: &'a str,
    /// All of `snapshot`; empty: it carries no state over a swap.
    pub snapshot: &'a str,
    /// More of the module: after its memory.
    pub extra: &'a str,
    /// Pages of memory.
    pub pages: u32,
}

impl Default for Guest<'_> {
    fn default() -> Self {
        Self {
            contract: "0.1.0",
            describe: "",
            init: ACCEPT,
            at_trigger: "",
            decide: "",
            post_describe: "",
            post_decide: "",
            snapshot: "",
            extra: "",
            pages: 1,
        }
    }
}

impl Guest<'_> {
    fn module(&self) -> String {
        let Self { describe, init, at_trigger, decide, post_describe, post_decide, extra, pages, .. } = self;
        let state = self.state();
        let module = format!(
            r#"(module
  (import "tidegate:policy/log@0.1.0" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") {pages})
  (global $top (mut i32) (i32.const 4096))
  (global $last (mut i64) (i64.const 0))
  (data (i32.const 16) "evil") (data (i32.const 32) "1.0.0")
  {extra}
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local i32)
    (local.set 4 (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get 4) (local.get 3)))
    (local.get 4))
  (func (export "tidegate:policy/describe@0.1.0#describe") (result i32)
    {describe}
    (i32.store (i32.const 128) (i32.const 16)) (i32.store (i32.const 132) (i32.const 4))
    (i32.store (i32.const 136) (i32.const 32)) (i32.store (i32.const 140) (i32.const 5))
    (i32.store (i32.const 144) (i32.const 32)) (i32.store (i32.const 148) (i32.const 0))
    (i32.store (i32.const 152) (i32.const 32)) (i32.store (i32.const 156) (i32.const 0))
    (i32.const 128))
  (func (export "cabi_post_tidegate:policy/describe@0.1.0#describe") (param i32) {post_describe})
  (func (export "tidegate:policy/flush@0.1.0#init")
    (param i32 i32 i32 i32 i32 i32 i64 i64 i32 i32 i64 i64 i64) (result i32)
    {init})
  (func (export "tidegate:policy/flush@0.1.0#decide")
    (param $reason i32) (param $now i64) (param $bytes i64)
    (param i64 i32 i64 i64 i64 i32 i32 i32 i64 i64 i32 i32 i32) (result i32)
    (global.set $last (local.get $bytes))
    {decide}
    (if (i64.eq (local.get $bytes) (i64.const {TRIGGER})) (then {at_trigger}))
    {WAIT})
  (func (export "cabi_post_tidegate:policy/flush@0.1.0#decide") (param i32) {post_decide})
  {state})"#
        );
        module.replace("@0.1.0", &format!("@{}", self.contract))
    }

    /// The interface that carries a state; what it restores it does not look at.
    fn state(&self) -> String {
        let snapshot = self.snapshot;
        if snapshot.is_empty() {
            return String::new();
        }
        format!(
            r#"(func (export "tidegate:policy/state@0.1.0#snapshot") (result i32) {snapshot})
  (func (export "tidegate:policy/state@0.1.0#restore") (param i32 i32 i32 i32) (result i32) {ACCEPT})"#
        )
    }

    /// The component.
    pub fn component(&self) -> bytes::Bytes {
        let mut module = wat::parse_str(self.module()).expect("the fixture is well-formed text");
        let contract =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit/policy.wit")).replace("@0.1.0", &format!("@{}", self.contract));
        let stateful = "world stateful-flush { import log; export describe; export flush; export state; }";
        let (contract, world) = if self.snapshot.is_empty() { (contract, "flush-policy") } else { (contract + stateful, "stateful-flush") };
        let mut resolve = wit_parser::Resolve::default();
        let package = resolve.push_str("policy.wit", &contract).expect("the contract parses");
        let world = resolve.select_world(&[package], Some(world)).expect("the contract has the world");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata fits any module");
        let encoded = ComponentEncoder::default().validate(true).module(&module).and_then(|encoder| encoder.encode());
        encoded.expect("the fixture keeps the contract").into()
    }
}

/// A component of text that is given whole.
pub fn component(text: &str) -> bytes::Bytes {
    wat::parse_str(text).expect("the fixture is well-formed text").into()
}

/// A component that exports names and imports others, all of them empty instances: to be looked at, not to be run.
pub fn outline(imports: &[&str], exports: &[&str]) -> bytes::Bytes {
    let imports: String = imports.iter().map(|name| format!("(import \"{name}\" (instance))\n")).collect();
    let exports: String = exports.iter().map(|name| format!("(export \"{name}\" (instance $empty))\n")).collect();
    component(&format!("(component {imports} (instance $empty) {exports})"))
}

/// So many functions that do nothing useful.
pub fn functions(count: usize, rounds: usize) -> String {
    let body = "(local.set 0 (i64.mul (i64.add (local.get 0) (i64.const 12345)) (i64.xor (local.get 0) (i64.const 678))))\n".repeat(rounds);
    (0..count).map(|_| format!("(func (param i64) (result i64) {body} (local.get 0))\n")).collect()
}

/// A component with a custom section of so many bytes at its end.
pub fn with_custom_section(component: &[u8], bytes: usize) -> bytes::Bytes {
    let mut grown = component.to_vec();
    grown.push(0);
    let mut left = bytes + 2;
    while left >= 0x80 {
        grown.push(0x80 | (left & 0x7f) as u8);
        left >>= 7;
    }
    grown.push(left as u8);
    grown.extend([1, b'x']);
    grown.resize(grown.len() + bytes, 0);
    grown.into()
}
