use proptest::prelude::*;

use super::*;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn key() -> SigningKey {
    SigningKey::from_pem(&SigningKey::generate().unwrap()).unwrap()
}

fn trusting(required: bool, keys: &[(&str, &SigningKey)]) -> Trust {
    let keys: Vec<TrustedKey> =
        keys.iter().map(|(name, key)| TrustedKey { name: (*name).to_owned(), key: key.public().to_string() }).collect();
    Trust::new(required, &keys)
}

#[test]
fn a_trusted_key_vouches_for_the_component_that_it_signed_and_no_other() {
    let (ops, stranger) = (key(), key());
    let signature = ops.sign(DIGEST).to_string();
    for required in [false, true] {
        let trust = trusting(required, &[("old", &stranger), ("ops", &ops)]);
        assert_eq!(trust.check(DIGEST, Some(&signature)), Ok(SignedBy("ops".to_owned())));
        assert_eq!(trust.check(&DIGEST.to_ascii_uppercase().replace("SHA256", "sha256"), Some(&signature)), Ok(SignedBy("ops".to_owned())));
        let other = DIGEST.replace("e3", "e4");
        let refusal = trust.check(&other, Some(&signature)).unwrap_err();
        assert_eq!(refusal.class(), FaultClass::BadSignature);
        assert!(refusal.problem().contains(&ops.public().id()) && refusal.problem().contains(&other), "{refusal}");
    }
}

#[test]
fn what_is_required_is_refused_with_key_digest_and_remedy() {
    let (ops, stranger) = (key(), key());
    let required = trusting(true, &[("ops", &ops)]);
    let refusal = required.check(DIGEST, None).unwrap_err();
    assert_eq!(refusal.class(), FaultClass::Unsigned);
    assert!(refusal.problem().contains(DIGEST) && refusal.remedy().contains("plugin sign"), "{refusal}");
    let by_stranger = stranger.sign(DIGEST).to_string();
    let refusal = required.check(DIGEST, Some(&by_stranger)).unwrap_err();
    assert_eq!(refusal.class(), FaultClass::Untrusted);
    assert!(refusal.problem().contains(&stranger.public().id()) && refusal.remedy().contains(&ops.public().id()), "{refusal}");
    let free = trusting(false, &[("ops", &ops)]);
    assert_eq!(free.check(DIGEST, None), Ok(SignedBy::default()));
    assert_eq!(free.check(DIGEST, Some(&by_stranger)), Ok(SignedBy::default()), "as good as none");
}

#[test]
fn a_key_under_anothers_id_does_not_count() {
    let (ops, stranger) = (key(), key());
    let forged = Signature { key_id: ops.public().id(), ..stranger.sign(DIGEST) };
    let refusal = trusting(false, &[("ops", &ops)]).check(DIGEST, Some(&forged.to_string())).unwrap_err();
    assert_eq!(refusal.class(), FaultClass::BadSignature);
}

#[test]
fn a_key_that_openssl_made_signs() {
    let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    let key = SigningKey::from_pem(pem).unwrap();
    // RFC 8032, section 7.1, test 1.
    assert_eq!(key.public().to_string(), "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
    for wrong in
        ["", "-----BEGIN PRIVATE KEY-----\n?\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"]
    {
        SigningKey::from_pem(wrong).unwrap_err();
    }
}

proptest! {
    #[test]
    fn signatures_and_keys_round_trip(digest in "sha256:[0-9a-f]{64}") {
        let key = key();
        let signature = key.sign(&digest);
        prop_assert_eq!(signature.to_string().parse::<Signature>(), Ok(signature));
        prop_assert_eq!(key.public().to_string().parse::<PublicKey>(), Ok(key.public()));
    }

    #[test]
    fn arbitrary_text_is_an_error(text: String) {
        prop_assert!(text.parse::<Signature>().is_err());
        prop_assert!(text.parse::<PublicKey>().is_err());
    }
}
