// copy.js: a button on each example that copies it; of a session only what is typed.
"use strict";
(function () {
    const MARK = /^(\(\w*\) ?)?(>>?|\$) /;

    function typed(pre) {
        const text = (pre.querySelector("code") || pre).textContent;
        if (!pre.querySelector(".p")) return text;
        return text.split("\n").filter(line => MARK.test(line)).map(line => line.replace(MARK, "") + "\n").join("");
    }

    // Where a page may not write to the clipboard, the old way, by a selection.
    function copy(text) {
        if (navigator.clipboard) return navigator.clipboard.writeText(text);
        const area = document.createElement("textarea");
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        return done ? Promise.resolve() : Promise.reject();
    }

    const examples = "pre.lua, pre.prompt, pre.console, pre.sh, pre.c, pre.code";
    for (const pre of document.querySelectorAll("main pre")) {
        if (!pre.matches(examples)) continue;
        const button = document.createElement("button"), place = document.createElement("span");
        button.type = "button";
        button.value = typed(pre);
        button.textContent = "Copy";
        button.addEventListener("click", () => {
            const say = text => {
                button.textContent = text;
                setTimeout(() => { button.textContent = "Copy"; }, 2000);
            };
            copy(button.value).then(() => say("Copied"), () => say("Not allowed"));
        });
        place.className = "copy";
        place.append(button);
        pre.prepend(place);
    }
})();
