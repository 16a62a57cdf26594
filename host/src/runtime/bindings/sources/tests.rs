use super::*;

fn sources(change: impl FnOnce(&mut Settings)) -> Sources {
    let mut settings = Settings::default();
    change(&mut settings);
    Sources::new(&settings, Env::system(), Arc::default())
}

#[tokio::test]
async fn a_directory_stands_for_its_only_component_and_signatures_lie_beside() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let sources = sources(|_| {});
    let empty = sources.fetch(place, None).await.unwrap_err();
    assert!(empty.class() == FaultClass::Unavailable && empty.problem().contains("no component"), "{empty}");
    std::fs::write(directory.path().join("a.wasm"), b"component").unwrap();
    std::fs::write(directory.path().join("a.wasm.sig"), "signed").unwrap();
    let found = sources.fetch(place, None).await.unwrap();
    assert_eq!((&found.bytes[..], found.signature.as_deref()), (&b"component"[..], Some("signed")));
    std::fs::write(directory.path().join("b.wasm"), b"another").unwrap();
    let several = sources.fetch(place, None).await.unwrap_err();
    assert!(several.problem().contains("a.wasm") && several.problem().contains("b.wasm"), "{several}");
    let pinned = crate::policy::wasm::digest(b"another");
    let file = format!("{place}/b.wasm");
    assert_eq!(sources.fetch(&file, Some(&pinned)).await.unwrap().signature, None);
    assert_eq!(sources.fetch(&format!("{place}/a.wasm"), Some(&pinned)).await.unwrap_err().class(), FaultClass::DigestMismatch);
}

#[tokio::test]
async fn a_signature_that_cannot_be_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.wasm");
    std::fs::write(&file, b"component").unwrap();
    std::fs::write(directory.path().join("a.wasm.sig"), [0xff, 0xfe]).unwrap();
    let sources = sources(|_| {});
    assert_eq!(sources.fetch(file.to_str().unwrap(), None).await.unwrap_err().class(), FaultClass::BadSignature);
    std::fs::write(directory.path().join("a.wasm.sig"), vec![b'x'; 1 << 20]).unwrap();
    assert_eq!(sources.fetch(file.to_str().unwrap(), None).await.unwrap_err().class(), FaultClass::Unavailable);
}

#[tokio::test]
async fn what_cannot_be_reached_says_where_it_was_looked_for() {
    let missing = sources(|_| {}).fetch("s3://bucket/key", None).await.unwrap_err();
    assert!(missing.remedy().contains("plugins.s3"), "{missing}");
    // Nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = sources(|_| {}).fetch(&format!("oci://{free}/x:1"), None).await.unwrap_err();
    assert!(nobody.class() == FaultClass::Unavailable && nobody.problem().contains(&free.to_string()), "{nobody}");
}

#[tokio::test]
async fn one_that_never_answers_is_not_waited_for() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("oci://{}/x:1", silent.local_addr().unwrap());
    let late = sources(|s| s.plugins.fetch_timeout_ms = 50).fetch(&place, None).await.unwrap_err();
    assert!(late.class() == FaultClass::Unavailable && late.remedy().contains("fetch_timeout_ms"), "{late}");
}
