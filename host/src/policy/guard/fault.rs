//! What can go wrong with a policy: one list of classes for metrics, logs, events and exit texts.

use std::fmt;

use crate::policy::Kind;

macro_rules! fault_classes {
    ($($stage:literal { $($(#[$doc:meta])* $variant:ident = $name:literal,)* })*) => {
        /// Class of a fault, from loading a component to a call of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FaultClass { $($($(#[$doc])* $variant,)*)* }

        impl FaultClass {
            /// All classes.
            pub const ALL: &'static [FaultClass] = &[$($(FaultClass::$variant,)*)*];

            /// Stage and name, such as `call.timeout`.
            pub fn as_str(self) -> &'static str {
                match self { $($(FaultClass::$variant => concat!($stage, ".", $name),)*)* }
            }
        }
    };
}

fault_classes! {
    "load" {
        /// Not WebAssembly at all.
        NotWasm = "not_wasm",
        /// A core module instead of a component.
        CoreModule = "core_module",
        /// Compiled code, which is never accepted from an author.
        Precompiled = "precompiled",
        /// WebAssembly in its text format.
        Text = "text",
        /// It does not parse up to its end.
        Truncated = "truncated",
        /// Larger than the host's limit.
        TooLarge = "too_large",
        /// Other bytes than those that were pinned.
        DigestMismatch = "digest_mismatch",
        /// It is not signed, and must be.
        Unsigned = "unsigned",
        /// It is signed by a key that is not trusted, and must be signed by one that is.
        Untrusted = "untrusted",
        /// Its signature does not fit.
        BadSignature = "bad_signature",
        /// It needs a WebAssembly feature that is off.
        FeatureDisabled = "feature_disabled",
        /// The compiler refused it.
        CompileFailed = "compile_failed",
        /// The compiler takes longer than whoever waits for it.
        CompileTimeout = "compile_timeout",
        /// The queue of the compiler is full.
        CompileBusy = "compile_busy",
        /// The component could not be had.
        Unavailable = "unavailable",
    }
    "contract" {
        /// Nothing in it is of the package `tidegate:policy`.
        NoMarker = "no_marker",
        /// It is written for another version of the contract.
        Unsupported = "unsupported",
        /// It imports what a policy must not have.
        ForbiddenImport = "forbidden_import",
        /// It lacks an export.
        MissingExport = "missing_export",
        /// An import or export has other types than the contract.
        TypeMismatch = "type_mismatch",
        /// Its config schema cannot be read, or uses what is not served.
        BadSchema = "bad_schema",
    }
    "init" {
        /// A trap before the first decision.
        InitTrap = "trap",
        /// Interrupted before the first decision.
        InitTimeout = "timeout",
        /// Memory was denied before the first decision.
        InitOom = "oom",
        /// A limit of the host was reached before the first decision.
        InitLimit = "limit",
        /// It refused its config.
        ConfigRejected = "config_rejected",
    }
    "call" {
        /// A trap.
        Trap = "trap",
        /// A panic that it reported.
        Panic = "panic",
        /// Interrupted at its deadline.
        Timeout = "timeout",
        /// Interrupted where a seal's shared deadline ended; not held against it.
        SealTimeout = "seal_timeout",
        /// Memory was denied.
        Oom = "oom",
        /// The stack was exhausted.
        Stack = "stack",
        /// A limit of the host was reached, or something was called that is not granted.
        Limit = "limit",
        /// The answer cannot be decoded.
        BadValue = "bad_value",
        /// It handed over more than the host takes.
        OutputLimit = "output_limit",
    }
    "swap" {
        /// A dry decision failed, at load or before it was bound.
        CanaryFailed = "canary_failed",
        /// It does not take over what the one before it had learned; it starts cold.
        StateRefused = "state_refused",
        /// A later request for the same pattern and kind won.
        Superseded = "superseded",
        /// What had been bound before was brought back.
        RolledBack = "rolled_back",
    }
}

impl FaultClass {
    /// Whether a stalled machine can cause it, so that the breaker is slower to believe it.
    pub fn is_deadline(self) -> bool {
        matches!(self, FaultClass::Timeout | FaultClass::InitTimeout)
    }

    /// Whether the breaker counts it.
    pub fn is_counted(self) -> bool {
        self != FaultClass::SealTimeout
    }

    /// The class of the same failure before the first decision.
    pub fn at_init(self) -> Self {
        match self {
            FaultClass::Trap | FaultClass::Panic | FaultClass::Stack | FaultClass::BadValue => FaultClass::InitTrap,
            FaultClass::Timeout | FaultClass::SealTimeout => FaultClass::InitTimeout,
            FaultClass::Oom => FaultClass::InitOom,
            FaultClass::Limit | FaultClass::OutputLimit => FaultClass::InitLimit,
            other => other,
        }
    }
}

impl fmt::Display for FaultClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One failure of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of failure.
    pub class: FaultClass,
    /// What is known of it; safe to print.
    pub message: String,
}

impl Fault {
    /// A fault; the message is lower case.
    pub fn new(class: FaultClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

/// A fault as it is announced: a policy failed and the built-in answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// Which decision.
    pub kind: Kind,
    /// Name of the topic.
    pub topic: String,
    /// Name of the plugin.
    pub plugin: String,
    /// Class of the fault.
    pub class: FaultClass,
    /// What is known of it.
    pub message: String,
}

/// Where faults are announced. Called where a lane decides: it must not block.
pub type FaultSink = std::sync::Arc<dyn Fn(&PolicyFault) + Send + Sync>;
