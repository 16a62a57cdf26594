//! Components that are large, or take long to compile.

use serde_json::json;
use tidegate::config::PolicySettings;
use tidegate::policy::{FaultClass, Kind};
use tidegate_tests::records::one;
use tidegate_tests::world::{World, at, commit, create, read_values, value};

use crate::kit::{Bench, empty, evil, good, settings};
use crate::produce::bind;
use crate::wat::{Guest, functions, with_custom_section};

/// Takes an optimising compiler many seconds, whatever the machine; one with another number is another component.
fn heavy(number: usize) -> bytes::Bytes {
    static HEAVY: std::sync::LazyLock<bytes::Bytes> = std::sync::LazyLock::new(|| {
        let extra = functions(200, 500);
        Guest { extra: &extra, ..Guest::default() }.component()
    });
    with_custom_section(&HEAVY, number)
}

fn roomy() -> PolicySettings {
    PolicySettings { component_bytes: 64 << 20, ..settings() }
}

#[tokio::test]
async fn sixty_four_mebibytes_of_custom_sections_are_refused_by_size() {
    let large = with_custom_section(&evil(), 64 << 20);
    let error = Bench::new(settings()).load(large.clone()).await.expect_err("it is larger than any component may be");
    assert_eq!(error.class(), FaultClass::TooLarge);
    assert!(error.to_string().contains("policy.component_bytes"), "{error}");
    let patient = Bench::new(PolicySettings { component_bytes: 128 << 20, ..settings() });
    let error = patient.load(large).await.expect_err("most of it is no code");
    assert_eq!(error.class(), FaultClass::TooLarge);
    assert!(error.to_string().contains("custom sections"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn thirty_thousand_functions_are_compiled_while_appends_go_on() {
    let world = World::with(|s| (s.policy.component_bytes, s.policy.compile_timeout_ms) = (16 << 20, 3_600_000));
    let host = world.open().await;
    let topic = create(&host, "orders", 1, 1).await;
    let extra = functions(30_000, 1);
    let large = Guest { extra: &extra, ..Guest::default() }.component();
    let mut binding = std::pin::pin!(host.bind(bind("*", Kind::Flush, large, json!({}))));
    // Compiling it takes seconds, each of these a fraction of a millisecond.
    for number in 0..200 {
        tokio::select! {
            biased;
            bound = &mut binding => panic!("it was bound after {number} commits: {bound:?}"),
            appended = commit(&host, at(&topic, 0), one(value(number))) => assert_eq!(appended.unwrap(), number),
        }
    }
    binding.await.expect("it is large, and good");
    assert_eq!(read_values(&host, at(&topic, 0)).await.unwrap().len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_too_long_for_the_compiler_is_let_go_and_others_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let cache = PolicySettings { compile_cache: Some(directory.path().join("compiled")), ..roomy() };
    Bench::new(cache.clone()).load(evil()).await.expect("it is compiled once");
    // No machine compiles a heavy one in a millisecond, or in the time that these requests take.
    let bench = Bench::new(PolicySettings { compile_timeout_ms: 1, overdue_compiles: 2, ..cache });
    let error = bench.load(heavy(1)).await.expect_err("it takes longer");
    assert_eq!(error.class(), FaultClass::CompileTimeout);
    assert!(error.to_string().contains("policy.compile_timeout_ms"), "{error}");
    let again = bench.load(heavy(1)).await.expect_err("it still does");
    assert_eq!(again.class(), FaultClass::CompileBusy);
    assert!(again.problem().contains("still being compiled"), "{again}");
    let second = bench.load(heavy(2)).await.expect_err("nobody waits for the first one, but this one takes as long");
    assert_eq!(second.class(), FaultClass::CompileTimeout);
    let third = bench.load(heavy(3)).await.expect_err("there is no room for a third");
    assert_eq!(third.class(), FaultClass::CompileBusy);
    bench.load(evil()).await.expect("what was compiled before is served all the while");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_overdue_compilation_comes_to_is_there_for_the_next_try() {
    let bench = Bench::new(PolicySettings { compile_timeout_ms: 1, ..roomy() });
    let extra = functions(50, 1_000);
    let component = Guest { extra: &extra, ..Guest::default() }.component();
    let error = bench.load(component.clone()).await.expect_err("a millisecond is not enough");
    assert_eq!(error.class(), FaultClass::CompileTimeout);
    loop {
        match bench.load(component.clone()).await {
            Ok(_) => break,
            Err(error) => assert_eq!(error.class(), FaultClass::CompileBusy, "it is not compiled anew: {error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_damaged_cache_of_compiled_code_is_a_miss_and_an_unwritable_one_costs_nothing_but_time() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("compiled");
    let cached = || Bench::new(PolicySettings { compile_cache: Some(cache.clone()), ..settings() });
    let files = || -> Vec<std::path::PathBuf> { std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let decides = async |bench: Bench| {
        bench.bind(Kind::Flush, evil(), json!({})).await;
        assert_eq!(bench.flush("t").decide(&empty()), good());
    };
    decides(cached()).await;
    let file = files().remove(0);
    let whole = std::fs::read(&file).unwrap();
    let foreign = [&whole[..32], b"\x7fELF", &whole[36..]].concat();
    for damage in [&whole[..whole.len() / 2], &whole[..10], b"", b"garbage", &foreign, &[&whole[..], b"more"].concat()] {
        std::fs::write(&file, damage).unwrap();
        decides(cached()).await;
        assert_eq!((files().len(), std::fs::read(&file).unwrap() == whole), (1, true), "it was written anew");
    }
    // Code of another engine has another name.
    let other = file.with_file_name(file.file_name().unwrap().to_str().unwrap().replace(".cwasm", "0.cwasm"));
    std::fs::rename(&file, &other).unwrap();
    decides(cached()).await;
    assert!(file.exists() && other.exists());
    // A directory that cannot be made: a file is in its place.
    let nowhere = PolicySettings { compile_cache: Some(file.join("compiled")), ..settings() };
    decides(Bench::new(nowhere)).await;
}

#[tokio::test]
async fn compiled_code_that_others_could_have_written_is_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("compiled");
    let bench = || Bench::new(PolicySettings { compile_cache: Some(cache.clone()), ..settings() });
    bench().load(evil()).await.unwrap();
    let file = std::fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    let before = std::fs::metadata(&file).unwrap().modified().unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    bench().load(evil()).await.unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().modified().unwrap(), before, "neither read nor written");
}
