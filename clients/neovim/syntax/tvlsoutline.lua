if vim.b.current_syntax then
  return
end
vim.b.current_syntax = 'tvlsoutline'

vim.cmd([[
syntax match TvlsType /\<[a-z]\+\d*\w*\[[0-9,]*\]\*\?/
syntax match TvlsTimes /×\d\+/
syntax match TvlsSource /\S\+\.py:\d\+$/
syntax match TvlsOpaque /  \zsopaque\>/
syntax match TvlsMore /⋯/
syntax match TvlsBody /not reported as executed/
syntax match TvlsFresh /^fresh\>/
syntax match TvlsStale /^stale\>.*/
syntax match TvlsStale /^partial:.*/
syntax match TvlsFailed /^failed:.*/
]])

for group, link in pairs({
  TvlsType = 'Type',
  TvlsTimes = 'Number',
  TvlsSource = 'Comment',
  TvlsOpaque = 'DiagnosticWarn',
  TvlsMore = 'NonText',
  TvlsBody = 'Comment',
  TvlsFresh = 'DiagnosticOk',
  TvlsStale = 'DiagnosticWarn',
  TvlsFailed = 'DiagnosticError',
  TvlsShape = 'LspInlayHint',
  TvlsStaleShape = 'NonText',
  TvlsHere = 'Visual',
}) do
  vim.api.nvim_set_hl(0, group, { link = link, default = true })
end
