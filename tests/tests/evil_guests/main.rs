//! What hostile, broken and unlucky policies do to a host: nothing that an operator would not see, and nothing to data.
//!
//! The common rule, checked of each: the built-in answers in the same call, the fault is counted by plugin, topic and class, the instance is
//! dropped, neighbours go on, repeated faults quarantine the binding, status and metrics say so. Cases that a test inside the crate covers
//! whole are not repeated here.
//!
//! | case | tests |
//! |---|---|
//! | P01 loops in a decision | [`calls`]; ticks counted: `policy::wasm::tests::a_loop_ends_within_its_deadline_and_a_tick` |
//! | P02 loops in start section, init, describe, destructor | [`loading`] |
//! | P03 logs for ever | [`calls`], [`chatter`] |
//! | P04 recursion | [`calls`] |
//! | P05 memory | [`calls`] |
//! | P06 first call, nth call, one topic; back-off | [`calls`]; pauses: `policy::guard::breaker::tests` |
//! | P07 a MiB of panic | [`calls`] |
//! | P08 versions of the contract | [`loading`] |
//! | P09 foreign imports | `policy::wasm::tests::forbidden_imports_are_named_all_at_once`; their place in the order: [`order`] |
//! | P10 other kinds of bytes | `policy::wasm::tests::whatever_is_no_component_has_its_own_message`, `precompiled_code_is_never_taken` |
//! | P11 truncated, flipped, pinned | [`damaged`] |
//! | P12 extreme answers | [`answers`]; every value: `policy::guard::clamp::tests` |
//! | P13 always, never | [`answers`], [`produce`] |
//! | P14 slow | [`slow`]; one deadline for a seal: `policy::wasm::tests::the_calls_of_one_seal_share_one_deadline` |
//! | P15 large components | [`compiling`] |
//! | P16 swaps | `policy_swap`; a file that changes while it is read: `runtime::bindings::stable::tests` |
//! | P17 a stopped process | [`stopped`] |
//! | P18 std guests on a worker | [`wasi`] |
//! | P19 10,000 cycles | [`cycles`] |
//! | forged values | `policy::wasm::tests::every_way_to_fail_in_a_call_has_its_class` |
//! | idle owners | [`idle`] |
//! | what their authors are told | [`authors`] |
//! | state over a swap | [`handover`] |
//! | beside a live policy | [`shadow`] |

#![allow(clippy::unwrap_used, reason = "the steps of a scenario are functions, not only those marked as tests")]

mod answers;
mod authors;
mod calls;
mod chatter;
mod compiling;
mod cycles;
mod damaged;
mod handover;
mod idle;
mod kit;
mod loading;
mod order;
mod produce;
mod shadow;
mod slow;
mod stopped;
mod wasi;
mod wat;
