//! `kubewright assets use`, on mirrors of the test's own.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::command::Ran;
use crate::mirror::{Answer, Mirror, archive, programs, sha512};
use crate::place::{Place, acceptor, mirror, name, with_linux};

#[tokio::test]
async fn the_newest_version_that_is_meant_is_installed_and_pinned() {
    let (mirror, place) = (mirror().await, Place::new());
    let path = place.used(&mirror.index(), &["1.36"]).await;
    assert_eq!(path, place.store().join("1.36.2-linux-amd64"));
    assert_eq!(
        mirror.asked(),
        ["/index.yaml".to_owned(), format!("/{}", name("1.36.2"))]
    );
    let lock = place.lock();
    assert!(lock.contains("version = \"1.36.2\""), "{lock}");
    for (platform, bytes) in [
        ("linux-amd64", programs("1.36.2")),
        ("darwin-arm64", b"a mac's".to_vec()),
    ] {
        assert!(
            lock.contains(&format!("{platform} = \"{}\"", sha512(&bytes))),
            "{lock}"
        );
    }
    assert!(
        fs::read_dir(place.store().join("downloads"))
            .unwrap()
            .next()
            .is_none()
    );

    // A pinned and installed version needs no server, in any folder of the repository.
    let deep = place.repository().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let mut again = place.command("http://127.0.0.1:9", &with_linux("use", &[]));
    let ran = Ran::of(again.current_dir(deep)).await;
    assert_eq!(ran.out, format!("{}\n", path.display()), "{}", ran.err);
    assert_eq!((mirror.asked(), place.lock()), (Vec::new(), lock));
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_laid_down_is_what_a_real_control_plane_is_started_from() {
    let (mirror, place) = (mirror().await, Place::new());
    let path = place.used(&mirror.index(), &["latest"]).await;
    let started = kubewright_testing::ControlPlane::builder()
        .assets(path)
        .start()
        .await;
    let error = started.unwrap_err().to_string();
    assert!(error.starts_with("etcd ended with exit code 3"), "{error}");
    assert!(error.contains("this is the etcd of 1.36.2"), "{error}");
}

#[tokio::test]
async fn a_pin_holds_until_something_newer_is_asked_for() {
    let (mirror, place) = (mirror().await, Place::new());
    let index = mirror.index();
    place.used(&index, &["1.36.1"]).await;
    for still in [&[][..], &["1.36"], &["~1.36.0"], &["--locked"]] {
        assert!(
            place
                .used(&index, still)
                .await
                .ends_with("1.36.1-linux-amd64"),
            "{still:?}"
        );
    }
    assert!(
        place
            .used(&index, &["1.36!"])
            .await
            .ends_with("1.36.2-linux-amd64")
    );
    assert!(place.lock().contains("1.36.2") && !place.lock().contains("1.36.1"));

    let text = place.refused(&index, &["1.35", "--locked"]).await;
    assert!(
        text.starts_with("error: kubewright.lock pins 1.36.2, which is not 1.35.x"),
        "{text}"
    );
    assert!(
        place
            .used(&index, &["<1.36"])
            .await
            .ends_with("1.35.9-linux-amd64")
    );
    assert!(
        place
            .used(&index, &["latest"])
            .await
            .ends_with("1.36.2-linux-amd64")
    );
}

#[tokio::test]
async fn a_hash_that_is_pinned_overrules_the_index() {
    let (mirror, place) = (mirror().await, Place::new());
    place.used(&mirror.index(), &["1.36.2"]).await;
    let other = Mirror::start().await;
    other.publishes(&[(&name("1.36.2"), &programs("another build"))]);
    let text = place.refused(&other.index(), &["--force"]).await;
    assert!(text.contains("and kubewright.lock pins"), "{text}");
    assert_eq!(other.asked(), ["/index.yaml"], "nothing was downloaded");

    // Nor does the installation of another repository take its place.
    let second = Place::new();
    fs::write(second.repository().join("kubewright.lock"), place.lock()).unwrap();
    fs::create_dir(second.0.path().join("elsewhere")).unwrap();
    let mut elsewhere = second.command(&other.index(), &with_linux("use", &["1.36.2"]));
    let ran = Ran::of(elsewhere.current_dir(second.0.path().join("elsewhere"))).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = second.refused(&other.index(), &[]).await;
    assert!(
        text.contains("comes from another archive than the one that kubewright.lock pins"),
        "{text}"
    );
    second.used(&mirror.index(), &["--force"]).await;
}

#[tokio::test]
async fn a_download_that_breaks_off_is_carried_on() {
    let (mirror, place) = (mirror().await, Place::new());
    let (path, bytes) = (format!("/{}", name("1.36.2")), programs("1.36.2"));
    let (half, rest) = (bytes.len() / 2, bytes.len() - bytes.len() / 2);
    assert!(rest <= half + 1);
    mirror.has(&path, Answer::Breaking(bytes.clone(), half));
    place.used(&mirror.index(), &["latest"]).await;
    let mut wanted = vec![
        "/index.yaml".to_owned(),
        path.clone(),
        format!("{path} from {half}"),
    ];
    if rest > half {
        wanted.push(format!("{path} from {}", 2 * half));
    }
    assert_eq!(mirror.asked(), wanted);

    // A server that knows no ranges sends all of it again.
    mirror.has(&path, Answer::WithoutRanges(bytes, half));
    place.used(&mirror.index(), &["--force"]).await;
    assert_eq!(
        mirror.asked()[1..],
        [path.clone(), format!("{path} from {half}")]
    );
}

#[tokio::test]
async fn another_process_carries_on_from_another_mirror() {
    let (first, second, place) = (mirror().await, mirror().await, Place::new());
    let path = format!("/{}", name("1.36.2"));
    // Each attempt brings a hundred bytes, until there are no more of them to be had.
    let bytes = programs("1.36.2");
    first.has(&path, Answer::Breaking(bytes[..150].to_vec(), 100));
    let text = place.refused(&first.index(), &["latest"]).await;
    assert!(text.contains("has the sha512"), "{text}");

    // What is left of a process that was killed in the middle.
    let part = place
        .store()
        .join("downloads")
        .join(format!("{}.part", &sha512(&bytes)[..16]));
    fs::write(&part, &bytes[..120]).unwrap();
    second.asked();
    place.used(&second.index(), &["latest"]).await;
    assert_eq!(second.asked()[1..], [format!("{path} from 120")]);

    // And pieces that do not fit together are no reason to give up.
    fs::write(&part, b"something else").unwrap();
    place.used(&second.index(), &["--force"]).await;
    assert_eq!(second.asked()[1..], [format!("{path} from 14"), path]);
}

#[tokio::test]
async fn what_one_mirror_has_not_got_or_has_wrong_comes_from_the_next() {
    let path = format!("/{}", name("1.36.2"));
    let mut faults = vec![
        (Answer::Status(404), "the server answers 404"),
        (Answer::Status(503), "the server answers 503"),
        (Answer::Silence, "the server said nothing for 1 s"),
        (Answer::Announced(1 << 40), "it has more than 1024 MiB"),
        (
            Answer::Breaking(programs("1.36.2"), 0),
            "the connection broke",
        ),
        (
            Answer::Bytes(programs("1.36.2")[..99].to_vec()),
            "what it sends has the sha512",
        ),
        (
            Answer::Bytes(programs("another")),
            "what it sends has the sha512",
        ),
        (
            Answer::Redirect("nowhere://".to_owned()),
            "redirects to nowhere",
        ),
        (
            Answer::Redirect("/index.yaml".to_owned()),
            "what it sends has the sha512",
        ),
    ];
    faults.push((
        Answer::Redirect(path.clone()),
        "redirects more than 10 times",
    ));
    for (fault, why) in faults {
        let (first, second, place) = (mirror().await, mirror().await, Place::new());
        first.has(&path, fault.clone());
        let text = place
            .refused(&first.index(), &["latest", "--timeout", "1"])
            .await;
        let complaint = format!("{}: ", first.url(&path));
        let error = "error: cannot download 1.36.2 for linux-amd64\n  ";
        assert!(text.contains(error), "{text}");
        assert!(
            text.contains(&complaint) && text.contains(why),
            "{fault:?}: {text}"
        );
        assert!(text.contains("hint: name mirrors with --index"), "{text}");
        assert_eq!(
            (place.installed(), place.lock()),
            (Vec::new(), String::new())
        );

        let both = format!("{},{}", first.index(), second.index());
        place.used(&both, &["latest", "--timeout", "1"]).await;
        assert!(second.asked().iter().any(|asked| asked.starts_with(&path)));
    }
}

#[tokio::test]
async fn an_index_that_cannot_be_read_is_passed_over_and_named() {
    let (good, place) = (mirror().await, Place::new());
    let bad = Mirror::start().await;
    for (answer, why) in [
        (
            Answer::Bytes(b"<html>log in first</html>".to_vec()),
            "it is no index of archives",
        ),
        (
            Answer::Bytes(b"releases: {}".to_vec()),
            "it names no archive",
        ),
        (Answer::Bytes(vec![0xff; 8]), "it is no text"),
        (Answer::Status(403), "the server answers 403"),
        (Answer::Breaking(vec![b'x'; 9], 3), "the connection broke"),
    ] {
        bad.has("/index.yaml", answer);
        let text = place.refused(&bad.index(), &["latest"]).await;
        assert!(
            text.contains("error: no index of archives can be read"),
            "{text}"
        );
        assert!(text.contains(&format!("{}: {why}", bad.index())), "{text}");
        let both = format!("{},{}", bad.index(), good.index());
        place.used(&both, &["latest", "--force"]).await;
    }
}

#[tokio::test]
async fn a_copy_of_the_index_with_the_archives_beside_it_is_a_mirror() {
    let (mirror, away, place) = (Mirror::start().await, Mirror::start().await, Place::new());
    let (file, bytes) = (name("1.36.2"), programs("1.36.2"));
    let text = format!(
        "releases:\n  v1.36.2:\n    {file}:\n      hash: {}\n      selfLink: {}\n",
        sha512(&bytes),
        away.url("/original.tar.gz")
    );
    mirror.has("/copy/index.yaml", Answer::Bytes(text.into_bytes()));
    mirror.has(&format!("/copy/{file}"), Answer::Bytes(bytes));
    place.used(&mirror.url("/copy/index.yaml"), &[]).await;
    assert_eq!(away.asked(), [""; 0]);
}

#[tokio::test]
async fn an_archive_that_leads_out_of_its_folder_installs_nothing() {
    let script = "#!/bin/sh\n";
    let both = [("kube-apiserver", script), ("etcd", script)];
    for (more, why) in [
        (
            Some(("../../evil", "x")),
            "its entry ../../evil leads out of it",
        ),
        (
            Some(("/tmp/kubewright-evil", "x")),
            "its entry /tmp/kubewright-evil leads out of it",
        ),
        (
            Some(("a/etcd", "x")),
            "it has two files by the name of a/etcd",
        ),
        (None, "it has no kube-apiserver"),
    ] {
        let (mirror, place) = (Mirror::start().await, Place::new());
        let files: Vec<_> = match more {
            Some(more) => both.into_iter().chain([more]).collect(),
            None => vec![both[1]],
        };
        mirror.publishes(&[(&name("1.36.2"), &archive(&files))]);
        let text = place.refused(&mirror.index(), &["latest"]).await;
        assert!(
            text.contains(&format!("cannot install 1.36.2 for linux-amd64: {why}")),
            "{text}"
        );
        assert_eq!(
            (place.installed(), place.lock()),
            (Vec::new(), String::new())
        );
        assert!(!place.0.path().join("evil").exists() && !place.0.path().join("../evil").exists());
    }
    let (mirror, place) = (Mirror::start().await, Place::new());
    mirror.publishes(&[(&name("1.36.2"), &programs("1.36.2")[..200])]);
    let text = place.refused(&mirror.index(), &["latest"]).await;
    assert!(text.contains("cut off"), "{text}");
    assert_eq!(place.installed(), [""; 0]);
}

#[tokio::test]
async fn without_a_network_only_what_is_installed_is_used() {
    let (mirror, place) = (mirror().await, Place::new());
    let text = place.refused(&mirror.index(), &["--installed"]).await;
    assert!(
        text.starts_with("error: any version for linux-amd64 is not installed\nhint: "),
        "{text}"
    );
    place.used(&mirror.index(), &["1.35"]).await;
    mirror.asked();
    place.used(&mirror.index(), &["latest-on-disk"]).await;
    place.used(&mirror.index(), &["-i", "<1.36"]).await;
    place.refused(&mirror.index(), &["-i", "1.36"]).await;
    assert_eq!(mirror.asked(), [""; 0]);
}

#[tokio::test]
async fn processes_that_want_the_same_version_download_it_once() {
    let (mirror, place) = (mirror().await, Place::new());
    let index = mirror.index();
    let runs = (0..4).map(|_| {
        let mut command = place.command(&index, &with_linux("use", &["1.36.2"]));
        tokio::spawn(async move { Ran::of(&mut command).await })
    });
    let runs: Vec<_> = runs.collect();
    for run in runs {
        let ran = run.await.unwrap();
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    let downloads = mirror
        .asked()
        .into_iter()
        .filter(|path| path.ends_with(".tar.gz"));
    assert_eq!(downloads.count(), 1);
}

#[tokio::test]
async fn the_place_is_printed_for_shells_and_for_programs() {
    let (mirror, place) = (mirror().await, Place::new());
    let path = place.used(&mirror.index(), &[]).await;
    let ran = place
        .run(
            "http://127.0.0.1:9",
            &with_linux("use", &["--output", "env"]),
        )
        .await;
    assert_eq!(
        ran.out,
        format!("export KUBEBUILDER_ASSETS='{}'\n", path.display())
    );
    let ran = place
        .run(
            "http://127.0.0.1:9",
            &with_linux("use", &["--output", "json"]),
        )
        .await;
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["path"], path.to_str().unwrap());
    assert_eq!(json["version"], "1.36.2");
    assert_eq!(json["sha512"], sha512(&programs("1.36.2")));
    assert_eq!(json["downloaded"], false);

    // A shell that evaluates the output of a failure fails, too.
    let failed = place
        .run(
            "http://127.0.0.1:9",
            &with_linux("use", &["1.35", "--output", "env"]),
        )
        .await;
    assert_eq!((failed.code, failed.out.as_str()), (Some(1), "false\n"));
    let failed = place
        .run(
            "http://127.0.0.1:9",
            &with_linux("use", &["1.35", "--output", "json"]),
        )
        .await;
    assert_eq!((failed.code, failed.out.as_str()), (Some(1), ""));
    let error: Value = serde_json::from_str(failed.err.lines().last().unwrap()).unwrap();
    assert_eq!(error["kind"], "user");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("no index of archives can be read")
    );
    assert!(
        error["hints"][0]
            .as_str()
            .unwrap()
            .starts_with("name mirrors")
    );
    // And what is no selector is a mistake on the command line.
    let wrong = place.run("http://127.0.0.1:9", &["use", "one.two"]).await;
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(2), ""));
}

#[tokio::test]
async fn mirrors_are_believed_by_the_authorities_of_the_machine() {
    use kubewright_certificates::Authority;
    let place = Place::new();
    let authority = Authority::new("mirrors").unwrap();
    let day = std::time::Duration::from_hours(24);
    let server = authority.sign_server(["127.0.0.1"], day).unwrap();
    let mirror = Mirror::encrypted(acceptor(&server)).await;
    mirror.publishes(&[(&name("1.36.2"), &programs("1.36.2"))]);
    let trusted = place.repository().join("ca.crt");
    fs::write(&trusted, authority.certificate_pem()).unwrap();
    let mut trusting = place.command(&mirror.index(), &with_linux("use", &[]));
    let ran = Ran::of(trusting.env("SSL_CERT_FILE", &trusted)).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);

    let mut doubting = place.command(&mirror.index(), &with_linux("use", &["--force"]));
    fs::write(
        &trusted,
        Authority::new("others").unwrap().certificate_pem(),
    )
    .unwrap();
    let ran = Ran::of(doubting.env("SSL_CERT_FILE", &trusted)).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("invalid peer certificate"), "{}", ran.err);

    // A redirect that would leave the encryption is not followed.
    let plain = crate::place::mirror().await;
    fs::write(&trusted, authority.certificate_pem()).unwrap();
    mirror.has("/index.yaml", Answer::Redirect(plain.index()));
    let mut led_on = place.command(&mirror.index(), &with_linux("use", &["latest"]));
    let ran = Ran::of(led_on.env("SSL_CERT_FILE", &trusted)).await;
    assert!(ran.err.contains("which is not encrypted"), "{}", ran.err);
    assert_eq!((ran.code, plain.asked().len()), (Some(1), 0));
}

#[tokio::test]
async fn an_encrypted_mirror_is_reached_through_the_proxy_of_the_machine() {
    use kubewright_certificates::Authority;
    let place = Place::new();
    let authority = Authority::new("mirrors").unwrap();
    let day = std::time::Duration::from_hours(24);
    let server = authority.sign_server(["127.0.0.1"], day).unwrap();
    let mirror = Mirror::encrypted(acceptor(&server)).await;
    mirror.publishes(&[(&name("1.36.2"), &programs("1.36.2"))]);
    let trusted = place.repository().join("ca.crt");
    fs::write(&trusted, authority.certificate_pem()).unwrap();

    let (proxy, tunnels) = proxy().await;
    let mut behind = place.command(&mirror.index(), &with_linux("use", &[]));
    behind
        .env("SSL_CERT_FILE", &trusted)
        .env("HTTPS_PROXY", &proxy);
    behind.env("NO_PROXY", "").env("no_proxy", "");
    let ran = Ran::of(&mut behind).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        tunnels.load(Ordering::Relaxed),
        2,
        "the index and the archive"
    );
    assert_eq!(mirror.asked().len(), 2);
}

/// A proxy, and how many tunnels it has made.
async fn proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let tunnels = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tunnels);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.ok()?);
                }
                let head = String::from_utf8(head).ok()?;
                let to = head.strip_prefix("CONNECT ")?.split(' ').next()?;
                let mut there = TcpStream::connect(to).await.ok()?;
                count.fetch_add(1, Ordering::Relaxed);
                stream.write_all(b"HTTP/1.1 200 x\r\n\r\n").await.ok()?;
                tokio::io::copy_bidirectional(&mut stream, &mut there)
                    .await
                    .ok()
            });
        }
    });
    (url, tunnels)
}

#[tokio::test]
async fn a_broken_lock_file_is_reported() {
    let (mirror, place) = (mirror().await, Place::new());
    let path: &Path = &place.repository().join("kubewright.lock");
    fs::write(path, "[assets]\nversion = 7\n").unwrap();
    let text = place.refused(&mirror.index(), &[]).await;
    assert!(text.contains("is no lock file"), "{text}");
    assert!(
        text.contains("hint: restore it from version control"),
        "{text}"
    );
}
