//! A policy component small enough to be read: what the SDK makes is tested where it is made.

use tidegate::policy::Kind;
use tidegate::runtime::Bind;

/// An index policy that always answers an entry every `spacing_bytes`.
pub fn fixed_index(spacing_bytes: u64) -> Vec<u8> {
    index_with_limit(spacing_bytes, u64::MAX)
}

/// A request to bind [`fixed_index`].
pub fn binding(by: &str, pattern: &str, spacing_bytes: u64) -> Bind {
    Bind {
        pattern: pattern.to_owned(),
        kind: Kind::Index,
        component: fixed_index(spacing_bytes).into(),
        source: "a test".to_owned(),
        config: serde_json::json!({}),
        by: by.to_owned(),
        digest: None,
        signature: None,
    }
}

/// [`fixed_index`], but it traps on slices of more than `limit_bytes`.
pub fn index_with_limit(spacing_bytes: u64, limit_bytes: u64) -> Vec<u8> {
    index(spacing_bytes, limit_bytes, "{}")
}

/// An index policy that takes configs of this schema: at most 255 bytes without backslashes.
pub fn index_with_schema(schema: &str) -> Vec<u8> {
    index(8_192, u64::MAX, schema)
}

fn index(spacing_bytes: u64, limit_bytes: u64, schema: &str) -> Vec<u8> {
    let length = u8::try_from(schema.len()).expect("a short schema");
    let text = COMPONENT.replace("SPACING", &escaped(spacing_bytes)).replace("LIMIT", &limit_bytes.to_string());
    let text = text.replace("LENGTH", &format!("\\{length:02x}")).replace("SCHEMA", &schema.replace('"', "\\22"));
    wat::parse_str(text).expect("the component is well-formed")
}

/// Little-endian bytes as a data string.
fn escaped(number: u64) -> String {
    number.to_le_bytes().iter().map(|byte| format!("\\{byte:02x}")).collect()
}

const COMPONENT: &str = r#"
(component
  (core module $code
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 4096))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (global.get $free))
      (global.set $free (i32.and (i32.add (i32.add (local.get $at) (local.get 3)) (i32.const 15)) (i32.const -16)))
      (local.get $at))
    (func (export "describe") (result i32) (i32.const 64))
    (func (export "init") (param i32 i32 i32 i32 i32 i32 i64 i64 i32 i32 i64 i64 i64) (result i32) (i32.const 128))
    (func (export "decide") (param i64 i64 i32 i64 i32 i32 i64) (result i32)
      (if (i64.gt_u (local.get 0) (i64.const LIMIT)) (then unreachable))
      (i32.const 160))
    (data (i32.const 0) "fixed-index")
    (data (i32.const 16) "1.0.0")
    (data (i32.const 256) "SCHEMA")
    ;; name, version, summary, schema: address and length
    (data (i32.const 64) "\00\00\00\00\0b\00\00\00\10\00\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00LENGTH\00\00\00")
    ;; bytes; records and time left out
    (data (i32.const 160) "SPACING\ff\ff\ff\ff\ff\ff\ff\ff\ff\ff\ff\ff\ff\ff\ff\ff"))
  (core instance $core (instantiate $code))

  (type $description (record (field "name" string) (field "version" string) (field "summary" string) (field "config-schema" string)))
  (type $context (record
    (field "topic-partitions" u32) (field "lane-partitions" u32) (field "lanes" u32) (field "window" u32)
    (field "max-segment-bytes" u64) (field "max-age-us" u64) (field "index-entry-bytes" u32) (field "read-ahead-slices" u32)
    (field "cache-bytes" u64) (field "put-price-nano" u64) (field "get-price-nano" u64)))
  (type $view (record
    (field "slice-bytes" u64) (field "slice-records" u64) (field "slice-batches" u32) (field "time-span-ms" u64)
    (field "seeks-per-min" u32) (field "time-lookups-per-min" u32) (field "fetch-p50-bytes" u64)))
  (type $spacing (record (field "bytes" u64) (field "records" u64) (field "time-ms" u64)))

  (func $describe (result $description)
    (canon lift (core func $core "describe") (memory (core memory $core "memory")) (realloc (core func $core "realloc"))))
  (func $init (param "config" string) (param "context" $context) (result (result (error string)))
    (canon lift (core func $core "init") (memory (core memory $core "memory")) (realloc (core func $core "realloc"))))
  (func $decide (param "view" $view) (result $spacing)
    (canon lift (core func $core "decide") (memory (core memory $core "memory")) (realloc (core func $core "realloc"))))

  (component $describes
    (type $d (record (field "name" string) (field "version" string) (field "summary" string) (field "config-schema" string)))
    (import "description" (type $description (eq $d)))
    (import "describe" (func $describe (result $description)))
    (export $named "description" (type $d))
    (export "describe" (func $describe) (func (result $named))))
  (instance $describes-it (instantiate $describes (with "description" (type $description)) (with "describe" (func $describe))))
  (export "tidegate:policy/describe@0.1.0" (instance $describes-it))

  (component $indexes
    (type $c (record
      (field "topic-partitions" u32) (field "lane-partitions" u32) (field "lanes" u32) (field "window" u32)
      (field "max-segment-bytes" u64) (field "max-age-us" u64) (field "index-entry-bytes" u32) (field "read-ahead-slices" u32)
      (field "cache-bytes" u64) (field "put-price-nano" u64) (field "get-price-nano" u64)))
    (type $v (record
      (field "slice-bytes" u64) (field "slice-records" u64) (field "slice-batches" u32) (field "time-span-ms" u64)
      (field "seeks-per-min" u32) (field "time-lookups-per-min" u32) (field "fetch-p50-bytes" u64)))
    (type $s (record (field "bytes" u64) (field "records" u64) (field "time-ms" u64)))
    (import "context" (type $context (eq $c)))
    (import "index-view" (type $view (eq $v)))
    (import "index-spacing" (type $spacing (eq $s)))
    (import "init" (func $init (param "config" string) (param "context" $context) (result (result (error string)))))
    (import "decide" (func $decide (param "view" $view) (result $spacing)))
    (export $named-context "context" (type $c))
    (export $named-view "index-view" (type $v))
    (export $named-spacing "index-spacing" (type $s))
    (export "init" (func $init) (func (param "config" string) (param "context" $named-context) (result (result (error string)))))
    (export "decide" (func $decide) (func (param "view" $named-view) (result $named-spacing))))
  (instance $indexes-it (instantiate $indexes
    (with "context" (type $context)) (with "index-view" (type $view)) (with "index-spacing" (type $spacing))
    (with "init" (func $init)) (with "decide" (func $decide))))
  (export "tidegate:policy/index@0.1.0" (instance $indexes-it)))
"#;
