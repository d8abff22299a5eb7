// A page that is loaded again has no token in its address: this tab knows it, if it is still true.
"use strict";
const token = sessionStorage.getItem("token");
sessionStorage.removeItem("token"); // tried once: a wrong one must not come back for ever
if (token !== null) {
  location.replace(`/?token=${encodeURIComponent(token)}${location.hash}`);
}
