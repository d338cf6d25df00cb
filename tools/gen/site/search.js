// search.js: what pages do: the list of pages is scrolled to this one; and search, without a server: the index is a
// script, which is loaded when somebody searches.
// An entry is [address, page, heading, text]. All words must be in it; what counts most is a heading that is the words.
"use strict";
(function () {
    const root = document.currentScript.dataset.root;
    const input = document.getElementById("search"), list = document.getElementById("results");
    let loading = false;

    function load() {
        if (loading) return;
        loading = true;
        const script = document.createElement("script");
        script.src = root + "search_index.js";
        script.onload = show;
        document.head.append(script);
    }

    // How well an entry fits; 0: not all words are in it.
    function score(entry, words) {
        const page = entry[1].toLowerCase(), heading = entry[2].toLowerCase(), text = entry[3].toLowerCase();
        let sum = 0;
        for (const word of words) {
            const names = heading.split(/[\s,():]+/);
            let found = 0;
            if (heading === word || names.includes(word)) found = 60;
            else if (names.some(name => name.endsWith("." + word))) found = 50;
            else if (heading.includes(word)) found = 20;
            if (page.includes(word)) found += 5;
            const count = text.split(word).length - 1;
            found += Math.min(count, 5);
            if (!found) return 0;
            sum += found;
        }
        return sum;
    }

    function show() {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean), entries = window.neap_search_index;
        list.replaceChildren();
        if (!words.length || !entries) return;
        const found = entries.map(entry => [score(entry, words), entry]).filter(pair => pair[0] > 0);
        found.sort((a, b) => b[0] - a[0]);
        for (const [, entry] of found.slice(0, 20)) {
            const item = document.createElement("li"), link = document.createElement("a");
            const where = document.createElement("small");
            link.href = root + entry[0];
            link.textContent = entry[2];
            const at = Math.max(0, entry[3].toLowerCase().indexOf(words[0]) - 30);
            where.textContent = entry[1] + " — " + entry[3].slice(at, at + 120);
            link.append(where);
            item.append(link);
            list.append(item);
        }
        if (!found.length) {
            const item = document.createElement("li");
            item.className = "none";
            item.textContent = "Nothing found";
            list.append(item);
        }
    }

    input.addEventListener("focus", load);
    input.addEventListener("input", () => { load(); show(); });
    input.form.addEventListener("submit", event => {
        event.preventDefault();
        const first = list.querySelector("a");
        if (first) location.href = first.href;
    });
    document.addEventListener("keydown", event => {
        if (event.key === "/" && document.activeElement !== input) {
            event.preventDefault();
            input.focus();
        } else if (event.key === "Escape") {
            list.replaceChildren();
            input.blur();
        }
    });
    const pages = document.querySelector("nav.pages"), here = pages.querySelector(".here");
    if (here) pages.scrollTop = here.offsetTop - pages.clientHeight / 2; // of the list alone, and the page stays
    const asked = new URLSearchParams(location.search).get("q");
    if (asked) {
        input.value = asked;
        load();
    }
})();
