use proptest::prelude::*;

use super::*;

fn iterations() -> NonZeroU32 {
    NonZeroU32::new(4_096).unwrap()
}

/// The exchange of RFC 7677, section 3.
#[test]
fn the_example_of_the_standard_is_answered_to_the_letter() {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let credential = Credential::of_password(Hash::Sha256, b"pencil", salt, iterations());
    assert!(credential.fits(Hash::Sha256, b"pencil") && !credential.fits(Hash::Sha256, b"pencils"));
    let first = First::read(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO").unwrap();
    assert_eq!(first.user, "user");
    let challenge = Challenge::new(Hash::Sha256, first, credential, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0");
    assert_eq!(challenge.message(), "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
    let last = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    assert_eq!(challenge.finish(last).unwrap().unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    let mut wrong = last.to_vec();
    wrong[70] ^= 1;
    assert!(!matches!(challenge.finish(&wrong), Ok(Some(_))));
}

/// What a client that knows the password answers to a challenge, if it gives back this nonce.
fn last(challenge: &Challenge, password: &[u8], nonce: &str) -> Vec<u8> {
    let hash = challenge.hash;
    let key = hash.keyed(&hash.salted(password, &challenge.credential.salt.0, iterations()).0, b"Client Key");
    let unproven = format!("c=biws,r={nonce}");
    let signed = format!("{},{},{unproven}", challenge.first.bare, challenge.message);
    let signature = hash.keyed(&hash.of(&key), signed.as_bytes());
    let proof: Vec<u8> = key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    format!("{unproven},p={}", STANDARD.encode(proof)).into_bytes()
}

#[test]
fn old_librdkafka_repeats_its_nonce_and_gets_in_and_nobody_gets_in_with_another() {
    for hash in Hash::ALL {
        let credential = Credential::of_password(hash, b"pencil", vec![1; 32], iterations());
        let challenge = Challenge::new(hash, First::read(b"n,,n=user,r=mine").unwrap(), credential, "yours");
        for nonce in ["mineyours", "minemineyours"] {
            assert!(challenge.finish(&last(&challenge, b"pencil", nonce)).unwrap().is_some(), "{nonce}");
            assert!(challenge.finish(&last(&challenge, b"pencils", nonce)).unwrap().is_none(), "{nonce}");
        }
        for nonce in ["mine", "yours", "mineyour", "mineyoursyours2", ""] {
            assert!(challenge.finish(&last(&challenge, b"pencil", nonce)).is_err(), "{nonce}");
        }
    }
}

#[test]
fn no_message_is_taken_that_says_something_else() {
    let read = |text: &str| First::read(text.as_bytes()).map(|first| first.user);
    assert_eq!(read("n,a=u,n=u,r=x"), Ok("u".into()));
    assert_eq!(read("y,,n=a=2Cb=3D,r=x,m=1").unwrap(), "a,b=");
    for wrong in [
        "",
        "n",
        "n,",
        "p=tls-unique,,n=u,r=x",
        "n,,r=x,n=u",
        "n,,n=u",
        "n,,n=,r=x",
        "n,,n=u,r=",
        "n,,n=u=2D,r=x",
        "n,a=v,n=u,r=x",
        "n,b,n=u,r=x",
        "n,,n=u,r=x,tokenauth=true",
        "n,,n=u,r=x y",
    ] {
        assert!(read(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn nobody_looks_like_somebody_and_always_the_same() {
    let of = |name| Credential::of_nobody(Hash::Sha512, b"secret", name, iterations());
    assert_eq!(of("a"), of("a"));
    assert_ne!(of("a").salt, of("b").salt);
    assert_eq!(of("a").salt.0.len(), SALT_BYTES);
    for password in ["", "a", "secret"] {
        assert!(!of("a").fits(Hash::Sha512, password.as_bytes()));
    }
}

#[test]
fn what_is_stored_shows_no_secret_where_it_is_printed() {
    let credential = Credential::of_password(Hash::Sha256, b"hunter2", vec![7; 32], iterations());
    let stored = serde_json::to_string(&credential).unwrap();
    assert!(!stored.contains("hunter2"));
    assert_eq!(serde_json::from_str::<Credential>(&stored).unwrap(), credential);
    let key = STANDARD.encode(&credential.stored_key.0);
    assert!(!format!("{credential:?}").contains(&key[..8]) && stored.contains(&key));
}

proptest! {
    #[test]
    fn arbitrary_messages_never_panic(first: Vec<u8>, last: Vec<u8>) {
        let _ = First::read(&first);
        let start = First::read(b"n,,n=u,r=x").unwrap();
        let challenge = Challenge::new(Hash::Sha512, start, Credential::of_nobody(Hash::Sha512, b"s", "u", iterations()), "y");
        prop_assert!(!matches!(challenge.finish(&last), Ok(Some(_))));
    }
}
