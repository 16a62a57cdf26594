//! The outline of a component: what it imports, exports and carries, read without compiling it.

use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use super::LoadError;
use crate::policy::guard::FaultClass;

/// Bytes of custom sections at most: debug information belongs elsewhere.
const MAX_CUSTOM_BYTES: usize = 1 << 20;

/// Names at the top of a component, in its order.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
}

/// What the engine is configured for: no threads, garbage collection, exceptions, 64-bit memories or relaxed SIMD, whose results differ
/// between machines.
fn features() -> WasmFeatures {
    WasmFeatures::WASM2
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::COMPONENT_MODEL
}

impl Outline {
    /// Parses and validates all of it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        if let Err(error) = Validator::new_with_features(features()).validate_all(bytes) {
            return Err(refuse(bytes, &error));
        }
        Self::names(bytes).map_err(|error| refuse(bytes, &error))?
    }

    fn names(bytes: &[u8]) -> wasmparser::Result<Result<Self, LoadError>> {
        let (mut outline, mut depth, mut custom) = (Self::default(), 0_u32, 0);
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::CustomSection(section) => custom += section.data().len(),
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    for import in imports {
                        outline.imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    for export in exports {
                        outline.exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        if custom > MAX_CUSTOM_BYTES {
            let problem = format!("the component carries {custom} bytes of custom sections, at most {MAX_CUSTOM_BYTES} are allowed");
            return Ok(Err(LoadError::new(FaultClass::TooLarge, problem, "strip its debug information")));
        }
        Ok(Ok(outline))
    }
}

fn refuse(bytes: &[u8], error: &wasmparser::BinaryReaderError) -> LoadError {
    let at = format!("{} (at byte {} of {})", error.message(), error.offset(), bytes.len());
    if Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok() {
        let problem = format!("the component needs a WebAssembly feature that is off here: {at}");
        return LoadError::new(FaultClass::FeatureDisabled, problem, "build it for plain wasm32 without threads, exceptions or memory64");
    }
    if error.message().contains("unexpected end") || error.offset() >= bytes.len() {
        return LoadError::new(FaultClass::Truncated, format!("the component is cut short: {at}"), "copy or build it again");
    }
    LoadError::new(FaultClass::NotWasm, format!("the component does not parse: {at}"), "copy or build it again")
}
