"""axe-core, which finds obstacles for people with disabilities on a page. It comes from a wheel that includes its
script."""

import wheels

WHEEL = "axe-playwright-python==0.1.8"  # axe-core 4.12; its Python part is not used


def script():
    return (wheels.folder(WHEEL, "--no-deps") / "axe_playwright_python" / "axe.min.js").read_text()


def findings(browser):
    """Returns its findings for the present page, one a line, minor ones included."""
    browser.run(script())
    found = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations), (e) => done(String(e)));")
    assert isinstance(found, list), found
    return ["%s: %s: %s" % (one["impact"], one["help"], node["html"][:200] + " " + node["failureSummary"].replace("\n", " ")[:300])
            for one in found for node in one["nodes"]]
