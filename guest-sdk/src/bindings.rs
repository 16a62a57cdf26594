//! Bindings generated from `wit/`: the types on every target, so that policies run natively too; calls to and from a host on wasm32 only. One
//! world for each interface, so that a plugin exports just the kinds that it decides.

#![allow(missing_docs, unreachable_pub, unsafe_code, clippy::all, reason = "generated; the calling convention is unsafe by nature")]

pub mod types {
    wit_bindgen::generate!({
        inline: "package tidegate:guest; world types { import tidegate:policy/types@0.1.0; }",
        path: "wit",
        generate_all,
        world: "tidegate:guest/types",
        generate_unused_types: true,
        additional_derives: [PartialEq, Eq, Default],
        additional_derives_ignore: ["flush-reason", "flush-decision", "context"],
        runtime_path: "tidegate_guest::__wit_bindgen::rt",
    });
}

#[cfg(target_arch = "wasm32")]
pub mod describe {
    wit_bindgen::generate!({
        inline: "package tidegate:guest; world describe { import tidegate:policy/log@0.1.0; export tidegate:policy/describe@0.1.0; }",
        path: "wit",
        generate_all,
        world: "tidegate:guest/describe",
        runtime_path: "tidegate_guest::__wit_bindgen::rt",
        pub_export_macro: true,
        export_macro_name: "export_describe",
    });
}

#[cfg(target_arch = "wasm32")]
pub mod flush {
    wit_bindgen::generate!({
        inline: "package tidegate:guest; world flush { export tidegate:policy/flush@0.1.0; }",
        path: "wit",
        generate_all,
        world: "tidegate:guest/flush",
        with: { "tidegate:policy/types@0.1.0": tidegate_guest::bindings::types::tidegate::policy::types },
        runtime_path: "tidegate_guest::__wit_bindgen::rt",
        pub_export_macro: true,
        export_macro_name: "export_flush",
    });
}

#[cfg(target_arch = "wasm32")]
pub mod index {
    wit_bindgen::generate!({
        inline: "package tidegate:guest; world index { export tidegate:policy/index@0.1.0; }",
        path: "wit",
        generate_all,
        world: "tidegate:guest/index",
        with: { "tidegate:policy/types@0.1.0": tidegate_guest::bindings::types::tidegate::policy::types },
        runtime_path: "tidegate_guest::__wit_bindgen::rt",
        pub_export_macro: true,
        export_macro_name: "export_index",
    });
}

#[cfg(target_arch = "wasm32")]
pub mod read_ahead {
    wit_bindgen::generate!({
        inline: "package tidegate:guest; world read-ahead { export tidegate:policy/read-ahead@0.1.0; }",
        path: "wit",
        generate_all,
        world: "tidegate:guest/read-ahead",
        with: { "tidegate:policy/types@0.1.0": tidegate_guest::bindings::types::tidegate::policy::types },
        runtime_path: "tidegate_guest::__wit_bindgen::rt",
        pub_export_macro: true,
        export_macro_name: "export_read_ahead",
    });
}

#[cfg(target_arch = "wasm32")]
pub mod state {
    wit_bindgen::generate!({
        inline: "package tidegate:guest; world state { export tidegate:policy/state@0.1.0; }",
        path: "wit",
        generate_all,
        world: "tidegate:guest/state",
        runtime_path: "tidegate_guest::__wit_bindgen::rt",
        pub_export_macro: true,
        export_macro_name: "export_state",
    });
}
